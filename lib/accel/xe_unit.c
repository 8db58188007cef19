/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/xe_unit.h"

#include "accel/info.h"
#include "accel/xe_clients.h"
#include "accel/xe_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

/*
 * Stalls are added up for so long, and for longer where there are many addresses: no more than COUNTS_PER_SECOND records
 * leave here, some 100 kB/s in the file. Which launch a sample is of needs the interval to be no longer than kernels run;
 * where launches of one kernel take turns faster, each gets the part that its time is.
 */
#define INTERVAL_NS       10000000u
#define INTERVAL_MAX_NS   1000000000u
#define COUNTS_PER_SECOND 20000u

#define SECOND_NS 1000000000u
/* Who uses the GPU is asked so often: it means looking at every descriptor of every process. */
#define LOOK_NS (10ull * SECOND_NS)
/* Kernels that are gone are kept for as long as samples may still be of them. */
#define KEEP_CODE_NS (10ull * SECOND_NS)

struct tile {
	uint16_t gt;
	int fd; /* -1: none now */
	struct xe_stream *stream;
	struct xe_stream_stats told;
	struct xe_stalls_stats told_stalls;
	uint64_t retry_ns; /* not before then */
	bool was_refused;
};

struct xe_unit {
	const struct accel_host *host;
	const struct xe_kernel *kernel;
	struct xe_device device;
	uint64_t period; /* 0: the kernel's own */
	int epoll;       /* borrowed */
	struct tile tiles[XE_GTS_MAX];
	struct xe_code *code;
	struct xe_samples *samples;
	struct xe_clients *clients;
	uint64_t looked_ns;
	uint64_t begin_ns, interval_ns;
	uint32_t record; /* DEVICE; 0: none yet */
};

int xe_unit_new(struct xe_unit **ret, const struct accel_host *host, const struct xe_kernel *k,
		const struct xe_device *device)
{
	CLEANUP(xe_unit_free) struct xe_unit *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	u->host = host;
	u->kernel = k;
	u->device = *device;
	u->interval_ns = INTERVAL_NS;
	for (size_t i = 0; i < device->gt_count; i++) {
		u->tiles[i].gt = device->gts[i];
		u->tiles[i].fd = -1;
	}
	if (xe_code_new(&u->code, device->layout == XE_LAYOUT_XE3P) < 0 ||
	    xe_samples_new(&u->samples, host, 0) < 0 ||
	    xe_clients_new(&u->clients, k, device->pci) < 0)
		return -ENOMEM;
	*ret = TAKE(u);
	return 0;
}

static void tile_close(struct tile *t)
{
	if (t->fd >= 0)
		close(t->fd); /* which takes it out of the epoll set */
	t->fd = -1;
	xe_stream_free(t->stream);
	t->stream = NULL;
}

void xe_unit_free(struct xe_unit *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < u->device.gt_count; i++)
		tile_close(&u->tiles[i]);
	xe_code_free(u->code);
	xe_samples_free(u->samples);
	xe_clients_free(u->clients);
	free(u);
}

bool xe_unit_is_at(const struct xe_unit *u, const struct xe_device *device)
{
	return !strcmp(u->device.path, device->path);
}

/* ---- streams ---- */

/* Of a descriptor, which it then owns. */
static int tile_begin(struct xe_unit *u, struct tile *t, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	const struct xe_stream_options options = { .fd = fd, .layout = u->device.layout };

	t->fd = fd;
	t->told = (struct xe_stream_stats){ 0 };
	t->told_stalls = (struct xe_stalls_stats){ 0 };
	int rc = xe_stream_new(&t->stream, &options);
	if (rc == 0 && epoll_ctl(u->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		rc = -errno;
	if (rc < 0)
		tile_close(t);
	return rc;
}

static int tile_open(struct xe_unit *u, struct tile *t, struct err *err)
{
	int fd, rc;

	rc = xe_device_sample(u->kernel, &u->device, t->gt, u->period, &fd, err);
	if (rc < 0)
		return rc;
	rc = tile_begin(u, t, fd);
	return rc < 0 ? err_set(err, rc, "cannot read the stalls of '%s'", u->device.path) : 0;
}

static int look_at_clients(struct xe_unit *u, uint64_t now_ns)
{
	u->looked_ns = now_ns;
	return xe_clients_look(u->clients, u->host->is_target, u->host->data);
}

/* Streams are open: samples are taken from here on. */
static int begin(struct xe_unit *u)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	u->begin_ns = (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
	return look_at_clients(u, u->begin_ns);
}

int xe_unit_start(struct xe_unit *u, int epoll, uint64_t period, struct err *err)
{
	int rc = 0;

	u->epoll = epoll;
	u->period = xe_period_choose(&u->device, period);
	for (size_t i = 0; i < u->device.gt_count && rc == 0; i++) {
		rc = tile_open(u, &u->tiles[i], err);
		u->tiles[i].was_refused = rc < 0;
	}
	if (rc == 0 && begin(u) < 0)
		rc = err_set(err, -ENOMEM, "no memory");
	return rc;
}

int xe_unit_succeed(struct xe_unit *u, int epoll, struct xe_unit *before, struct err *err)
{
	int rc = 0;

	u->epoll = epoll;
	u->period = before->period;
	for (size_t i = 0; i < u->device.gt_count && rc == 0; i++) {
		struct tile *from = &before->tiles[i];
		int fd = from->fd;
		if (fd < 0)
			continue;
		epoll_ctl(before->epoll, EPOLL_CTL_DEL, fd, NULL);
		from->fd = -1;
		from->retry_ns = UINT64_MAX;
		rc = tile_begin(u, &u->tiles[i], fd);
	}
	if (rc == 0)
		rc = begin(u);
	return rc < 0 ? err_set(err, rc, "cannot go on with the stalls of '%s'", u->device.path)
		      : 0;
}

/* ---- losses ---- */

/* The kernel says that records were dropped, not how many. */
static int tile_losses(struct xe_unit *u, struct tile *t, uint64_t now_ns)
{
	struct xe_stream_stats stats = xe_stream_stats(t->stream);
	struct xe_stalls_stats stalls = xe_stalls_stats(xe_stream_stalls(t->stream));
	const struct {
		const char *what, *why;
		uint64_t count;
	} losses[] = {
		{ "gpu-buffer", "the GPU's buffer was full: each time some samples",
		  stats.losses - t->told.losses },
		{ "pc-sample", "a record without the mark at its end",
		  stalls.damaged - t->told_stalls.damaged },
		{ "pc-sample", "more addresses in an interval than are told apart",
		  stalls.overflowed - t->told_stalls.overflowed },
		{ "pc-sample", "a record that was cut off",
		  (stats.cut_bytes - t->told.cut_bytes + XE_RECORD_BYTES - 1) / XE_RECORD_BYTES },
	};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(losses) && rc == 0; i++)
		rc = accel_lost(u->host, now_ns, losses[i].what, losses[i].why, losses[i].count);
	t->told = stats;
	t->told_stalls = stalls;
	return rc;
}

/* ---- reading ---- */

static int end_interval(struct xe_unit *u, struct tile *t, uint64_t now_ns)
{
	int rc = xe_samples_take(u->samples, xe_stream_stalls(t->stream), u->begin_ns, now_ns);

	if (rc < 0)
		return rc;
	uint64_t wanted = (uint64_t)rc * (SECOND_NS / COUNTS_PER_SECOND);
	if (wanted > u->interval_ns)
		u->interval_ns = wanted < INTERVAL_MAX_NS ? wanted : INTERVAL_MAX_NS;
	return tile_losses(u, t, now_ns);
}

/* The stream's end: what it had counts, and there may be another. */
static int tile_lost(struct xe_unit *u, struct tile *t, uint64_t now_ns, int error)
{
	int rc = end_interval(u, t, now_ns);

	tile_close(t);
	t->retry_ns = error == -ENODEV ? now_ns : UINT64_MAX;
	return rc < 0 ? rc
		      : accel_lost(u->host, now_ns, "gpu-buffer",
				   error == -ENODEV
					   ? "the GPU was reset: what its buffer had is gone"
					   : "the GPU's stream has ended",
				   1);
}

static int tile_retry(struct xe_unit *u, struct tile *t, uint64_t now_ns)
{
	struct err err;
	int rc = tile_open(u, t, &err);

	if (rc == -ENOMEM)
		return rc;
	t->retry_ns = now_ns + SECOND_NS;
	if (rc == 0 || t->was_refused)
		return 0;
	t->was_refused = true;
	return accel_info(u->host->writer, "missing.device-samples", err.text);
}

static int tile_read(struct xe_unit *u, struct tile *t, uint64_t now_ns, bool is_end)
{
	int rc = 0;

	if (t->fd < 0 && t->stream) /* another recording goes on with it */
		return is_end ? end_interval(u, t, now_ns) : 0;
	if (t->fd < 0)
		return now_ns >= t->retry_ns ? tile_retry(u, t, now_ns) : 0;
	rc = xe_stream_drain(t->stream);
	if (rc == -ENOMEM)
		return rc;
	if (rc < 0)
		return tile_lost(u, t, now_ns, rc);
	return is_end ? end_interval(u, t, now_ns) : 0;
}

int xe_unit_read(struct xe_unit *u, uint64_t now_ns, bool is_last)
{
	int rc = 0;

	bool is_end = is_last || now_ns - u->begin_ns >= u->interval_ns;
	if (is_end)
		u->interval_ns = INTERVAL_NS;
	for (size_t i = 0; i < u->device.gt_count && rc == 0; i++)
		rc = tile_read(u, &u->tiles[i], now_ns, is_end);
	if (is_end)
		u->begin_ns = now_ns;
	if (rc == 0 && (is_last || now_ns - u->looked_ns >= LOOK_NS))
		rc = look_at_clients(u, now_ns);
	return rc;
}

/* ---- code ---- */

int xe_unit_loaded(struct xe_unit *u, const struct accel_code *code, bool is_only_unit)
{
	bool is_here = code->pci && code->pci == u->device.pci;

	if (code->pci && u->device.pci && !is_here)
		return 0;
	/* The runtime calls this GPU so: its work and our samples are of one device then. */
	if (code->device && !u->record && (is_here || is_only_unit)) {
		u->record = code->device;
		xe_samples_set_device(u->samples, u->record);
	}
	int rc = xe_code_add(u->code, code);
	/* What a target says need not be so. */
	return rc == -EINVAL ? 0 : rc;
}

void xe_unit_unloaded(struct xe_unit *u, const struct accel_code *code)
{
	xe_code_remove(u->code, code);
}

static const char *architecture(const struct xe_device *d)
{
	switch (d->layout) {
	case XE_LAYOUT_PVC:
		return "Xe-HPC";
	case XE_LAYOUT_XE2:
		return d->version_major < 30 ? "Xe2" : "Xe3";
	case XE_LAYOUT_XE3P:
		return "Xe3p";
	}
	return "";
}

/* Nobody else has told of this GPU. */
static int declare_device(struct xe_unit *u)
{
	struct record r = { .type = RECORD_DEVICE };
	char name[160];
	int rc;

	snprintf(name, sizeof(name), "Intel GPU %04x (%s) at %s", u->device.pci_id,
		 architecture(&u->device), u->device.path);
	u->record = r.device.id = u->host->number(u->host->data);
	xe_samples_set_device(u->samples, u->record);
	rc = capture_writer_string(u->host->writer, name, &r.device.name);
	if (rc == 0)
		rc = capture_writer_string(u->host->writer, "xe", &r.device.runtime);
	if (rc == 0)
		rc = capture_writer_string(u->host->writer, "Intel", &r.device.vendor);
	return rc < 0 ? rc : capture_writer_put(u->host->writer, &r);
}

int xe_unit_write(struct xe_unit *u, uint64_t until_ns)
{
	int rc = 0;

	if (!xe_samples_are_due(u->samples, until_ns))
		return 0;
	if (!u->record)
		rc = declare_device(u);
	if (rc == 0)
		rc = xe_samples_write(u->samples, u->code, until_ns);
	if (until_ns != UINT64_MAX && until_ns > KEEP_CODE_NS)
		xe_code_forget(u->code, until_ns - KEEP_CODE_NS);
	return rc;
}

/* ---- last words ---- */

static int describe_sharing(struct xe_unit *u)
{
	struct xe_usage usage = xe_clients_usage(u->clients);
	uint64_t all = usage.targets + usage.others;
	char text[320];

	if (!usage.others)
		return 0;
	snprintf(text, sizeof(text),
		 "%.1f %% of what '%s' did was for processes that were not recorded, most for %u "
		 "(%s): samples of their code are here, as unknown or, where addresses are the "
		 "same, as ours; record them, too (-a), or end them",
		 100 * (double)usage.others / (double)all, u->device.path, usage.pid, usage.comm);
	return accel_info(u->host->writer, "missing.gpu-of-our-own", text);
}

/* With addresses alone. */
static int describe_code(struct xe_unit *u, const struct xe_samples_stats *stats)
{
	if (stats->placed || !stats->unknown)
		return 0;
	return accel_info(
		u->host->writer, "missing.gpu-code",
		"no process said where its kernels are on the GPU, so that stalls have "
		"addresses and no names: start the program with 'record -- CMD', or let a "
		"library of ours in with --inject");
}

/*
 * The driver's own kernels (copies and fills) are made inside it and told by nobody: not by what it has for debuggers, nor
 * in its libraries by address. They are what is left where nobody else uses the GPU and all who do tell of all their code.
 */
static int describe_driver(struct xe_unit *u, const struct xe_samples_stats *stats)
{
	struct xe_usage usage = xe_clients_usage(u->clients);
	size_t complete = xe_code_complete(u->code);
	char text[320];
	int rc;

	if (!stats->unknown || !complete || usage.others || !usage.targets ||
	    usage.target_count > complete)
		return 0;
	snprintf(text, sizeof(text),
		 "%" PRIu64 " samples are of code that none of the recorded programs has and that "
		 "nobody else could have run: the driver's own, which copies and fills memory",
		 stats->unknown);
	rc = accel_info(u->host->writer, "xe.driver-code", text);
	return rc < 0 ? rc : xe_samples_name_unknown(u->samples, "driver's own code");
}

int xe_unit_describe(struct xe_unit *u)
{
	struct xe_samples_stats stats = xe_samples_stats(u->samples);
	char text[320], period[48] = "as often as the kernel does by itself";
	uint64_t all = stats.placed + stats.unknown + stats.several;
	int rc;

	if (u->period)
		snprintf(period, sizeof(period), "each %" PRIu64 " GPU cycles", u->period);
	snprintf(text, sizeof(text),
		 "%" PRIu64 " of %s, %s, %s; %" PRIu64 " of code that nobody told of, %" PRIu64
		 " of one of several kernels",
		 all, u->device.path, architecture(&u->device), period, stats.unknown,
		 stats.several);
	rc = accel_info(u->host->writer, "xe.samples", text);
	if (rc == 0)
		rc = describe_code(u, &stats);
	if (rc == 0)
		rc = describe_driver(u, &stats);
	return rc < 0 ? rc : describe_sharing(u);
}
