/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/sampler.h"

#include "base/io.h"
#include "base/log.h"
#include "base/parse.h"
#include "collect/perf_sample.h"
#include "collect/programs.h"

#include "recorder.skel.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* 30 samples with a copied stack, or as much of it as perf_event_mlock_kb and RLIMIT_MEMLOCK allow: with
 * two CPUs and Debian's limits it is that. A power of two of pages. */
#define RING_BYTES (2u << 20)
#define RING_LEAST (256u << 10)
/* Wake for each copy: they come a hundred times a second, and take a quarter of the smallest ring. */
#define RING_WAKE (64u << 10)

uint64_t sampler_max_frequency(void)
{
	CLEANUP_FREE char *text = NULL;
	size_t size;
	uint64_t value;

	if (io_read_file("/proc/sys/kernel/perf_event_max_sample_rate", 64, &text, &size) < 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return parse_u64(text, 10, &value) < 0 ? 0 : value;
}

static uint64_t sample_type_of(const struct sampler_options *opt)
{
	uint64_t type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;

	if (opt->stacks != STACK_MODE_NONE)
		type |= PERF_SAMPLE_CALLCHAIN;
	if (opt->stacks == STACK_MODE_TABLE)
		type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	return type;
}

static struct perf_event_attr attr_of(const struct sampler *s, const struct sampler_options *opt)
{
	struct perf_event_attr attr = {
		.type = s->kind.type,
		.size = sizeof(attr),
		.config = s->kind.config,
		.freq = s->period == 0,
		.disabled = 1,
		.exclude_idle = 1,
		.exclude_guest = 1,
		.exclude_user = s->kind.kernel_only,
		.exclude_kernel = s->kind.user_only,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	/* Of both only one is set; they are a union. */
	if (s->period)
		attr.sample_period = s->period;
	else
		attr.sample_freq = s->frequency;
	if (!opt->with_rings)
		return attr;
	attr.sample_type = s->sample_type;
	attr.read_format = s->has_lost_count ? PERF_FORMAT_LOST : 0;
	attr.sample_id_all = 1;
	attr.inherit = opt->scope.tid_count != 0;
	attr.inherit_thread = attr.inherit && opt->no_children;
	attr.enable_on_exec = opt->at_exec;
	attr.watermark = 1;
	attr.wakeup_watermark = RING_WAKE;
	if (opt->stacks == STACK_MODE_TABLE) {
		attr.exclude_callchain_user = 1;
		attr.sample_regs_user = PERF_SAMPLE_REGS;
		attr.sample_stack_user = PERF_SAMPLE_STACK_BYTES;
	}
	return attr;
}

/* Of an event that the kernel may not be looked at with, what is outside of it. */
static int open_kind(struct sampler *s, const struct sampler_options *opt, struct err *err)
{
	const struct perf_ring_size rings = { RING_BYTES, RING_LEAST };
	const struct perf_ring_size *size = opt->with_rings ? &rings : NULL;
	struct perf_event_attr attr = attr_of(s, opt);

	int rc = perf_events_open(&s->events, &attr, &opt->scope, size, "CPU samples", err);
	if (rc == -EINVAL && attr.read_format) { /* Linux before 6.0 */
		attr.read_format = 0;
		s->has_lost_count = false;
		rc = perf_events_open(&s->events, &attr, &opt->scope, size, "CPU samples", err);
	}
	if ((rc != -EACCES && rc != -EPERM) || !opt->with_rings || attr.exclude_kernel ||
	    attr.exclude_user || s->kind.is_tracepoint)
		return rc;
	attr.exclude_kernel = 1;
	rc = perf_events_open(&s->events, &attr, &opt->scope, size, "CPU samples", err);
	s->is_user_only = rc == 0;
	return rc;
}

static bool is_no_pmu(int code)
{
	return code == -ENOENT || code == -EOPNOTSUPP || code == -ENODEV;
}

/* What was asked for, or the best there is. */
static int open_event(struct sampler *s, const struct sampler_options *opt, struct err *err)
{
	static const char *const usual[] = { "cycles", "cpu-clock" };
	int rc = -ENOENT;

	if (opt->event) {
		rc = event_kind_parse(opt->event, &s->kind, err);
		if (rc < 0)
			return rc;
		/* Each hit of a tracepoint, as perf has it. */
		if (s->kind.is_tracepoint && !opt->period && !opt->frequency)
			s->period = 1;
		rc = open_kind(s, opt, err);
		if (is_no_pmu(rc))
			return err_set(err, rc, "this machine has no event '%s'; use -e cpu-clock",
				       opt->event);
		return rc;
	}
	for (size_t i = 0; i < ARRAY_SIZE(usual) && is_no_pmu(rc); i++) {
		rc = event_kind_parse(usual[i], &s->kind, err);
		if (rc >= 0)
			rc = open_kind(s, opt, err);
		s->has_no_pmu |= is_no_pmu(rc);
	}
	return rc;
}

int sampler_open(struct sampler *ret, const struct sampler_options *opt, struct err *err)
{
	CLEANUP(sampler_close)
	struct sampler s = {
		.period = opt->period,
		.sample_type = sample_type_of(opt),
		.at_exec = opt->at_exec,
		.has_lost_count = opt->with_rings,
	};
	uint64_t most = sampler_max_frequency();

	s.frequency = opt->period ? 0 : opt->frequency ? opt->frequency : SAMPLER_FREQUENCY;
	if (most && s.frequency > most)
		return err_set(err, -EINVAL,
			       "cannot take %lu samples a second: the kernel allows %lu; lower -F "
			       "or raise /proc/sys/kernel/perf_event_max_sample_rate",
			       (unsigned long)s.frequency, (unsigned long)most);
	int rc = open_event(&s, opt, err);
	if (rc < 0)
		return rc;
	if (s.period)
		s.frequency = 0;
	s.buffers = opt->with_rings ? perf_sample_buffers_new() : NULL;
	if (opt->with_rings && !s.buffers)
		return err_set(err, -ENOMEM, "no memory for samples");
	*ret = s;
	memset(&s, 0, sizeof(s));
	return 0;
}

int sampler_add(struct sampler *s, const struct sampler_options *opt, struct err *err)
{
	struct sampler *last = s;

	while (last->next)
		last = last->next;
	CLEANUP_FREE struct sampler *next = calloc(1, sizeof(*next));
	if (!next)
		return err_set(err, -ENOMEM, "no memory for the sampler");
	int rc = sampler_open(next, opt, err);
	if (rc < 0)
		return rc;
	next->number = last->number + 1;
	last->next = TAKE(next);
	return 0;
}

static int attach(struct sampler *s, const struct bpf_program *program, int fd, struct err *err)
{
	/* The link takes it over; ours is for sampler_pause(). */
	CLEANUP_CLOSE int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = s->number);
	struct bpf_link *link =
		copy < 0 ? NULL : bpf_program__attach_perf_event_opts(program, copy, &opts);

	if (!link)
		return err_set(err, -errno, "cannot attach the sampler to its perf event");
	(void)TAKE_FD(copy);
	if (vec_push(&s->links, link) < 0) {
		bpf_link__destroy(link);
		return err_set(err, -ENOMEM, "no memory for the sampler");
	}
	return 0;
}

static int start_one(struct sampler *s, const struct programs *programs, struct err *err)
{
	int rc;

	if (!programs) {
		rc = s->at_exec ? 0 : perf_events_control(&s->events, PERF_EVENT_IOC_ENABLE);
		return rc < 0 ? err_set(err, rc, "cannot start the sampler") : 0;
	}
	/* A tracepoint has its programs for all CPUs. */
	if (s->kind.is_tracepoint)
		return attach(s, programs->skeleton->progs.on_tracepoint, s->events.fds.data[0],
			      err);
	vec_for_each(&s->events.fds, fd) {
		rc = attach(s, programs->skeleton->progs.on_sample, *fd, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int sampler_start(struct sampler *s, const struct programs *programs, struct err *err)
{
	int rc = 0;

	for (; s && rc >= 0; s = s->next)
		rc = start_one(s, programs, err);
	return rc;
}

int sampler_pause(const struct sampler *s, bool is_paused)
{
	int rc = 0;

	for (; s && rc >= 0; s = s->next)
		rc = perf_events_control(&s->events, is_paused ? PERF_EVENT_IOC_DISABLE
							       : PERF_EVENT_IOC_ENABLE);
	return rc;
}

struct drain {
	struct sampler *sampler;
	ring_fn fn;
	void *data;
};

static int on_record(void *data, struct span record)
{
	const struct drain *d = data;
	struct perf_sample sample;

	int rc = perf_sample_parse(record, d->sampler->sample_type, &sample, NULL);
	if (rc <= 0)
		return rc;
	d->sampler->lost += sample.lost;
	if (sample.lost || !sample.pid) /* or the idle task */
		return 0;
	sample.event = d->sampler->number;
	return perf_sample_tell(&sample, d->sampler->buffers, d->fn, d->data);
}

int sampler_drain(struct sampler *s, ring_fn fn, void *data)
{
	int rc = 0;

	for (; s && rc >= 0; s = s->next) {
		struct drain d = { s, fn, data };
		rc = perf_events_drain(&s->events, on_record, &d);
	}
	return rc;
}

static uint64_t lost_of(const struct sampler *s)
{
	struct {
		uint64_t value, lost;
	} counts;
	uint64_t lost = 0;

	vec_for_each(&s->events.fds, fd) {
		if (s->has_lost_count && read(*fd, &counts, sizeof(counts)) == sizeof(counts))
			lost += counts.lost;
	}
	/* What the ring's own records say stands there only when something else came behind it. */
	return lost > s->lost ? lost : s->lost;
}

uint64_t sampler_lost(const struct sampler *s)
{
	uint64_t lost = 0;

	for (; s; s = s->next)
		lost += lost_of(s);
	return lost;
}

uint64_t sampler_malformed(const struct sampler *s)
{
	uint64_t malformed = 0;

	for (; s; s = s->next)
		malformed += s->events.malformed;
	return malformed;
}

uint64_t sampler_rate(const struct sampler *s)
{
	if (!s->kind.is_time)
		return 0;
	if (s->period)
		return s->kind.is_ns ? 1000000000 / s->period : 0;
	return s->frequency;
}

void sampler_close(struct sampler *s)
{
	if (s->next)
		sampler_close(s->next);
	free(s->next);
	s->next = NULL;
	vec_for_each(&s->links, link)
		bpf_link__destroy(*link);
	vec_release(&s->links);
	perf_events_close(&s->events);
	perf_sample_buffers_free(s->buffers);
	s->buffers = NULL;
}
