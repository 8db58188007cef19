/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intel GPUs by the kernel's xe driver: why their EUs stall, of all that runs there. What the addresses are of is told by
 * the runtimes that load the code. Sampling begins when a target maps Intel's driver for computing, or at once where it
 * is asked for by name: it keeps the GPU awake, and only one can sample it at a time.
 */
#include "accel/info.h"
#include "accel/runtimes.h"
#include "accel/site.h"
#include "accel/xe_unit.h"
#include "base/parse.h"
#include "base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

struct xe {
	struct accel_host host;
	uint64_t period;           /* GPU cycles; 0: the kernel's own */
	VEC(const char *) devices; /* wanted; none: all */
	int epoll;
	VEC(struct xe_unit *) units;
	bool is_on; /* or it has been tried */
};

static void xe_close(void *runtime)
{
	struct xe *x = runtime;

	vec_for_each(&x->units, it)
		xe_unit_free(*it);
	vec_release(&x->units);
	vec_release(&x->devices);
	if (x->epoll >= 0)
		close(x->epoll);
	free(x);
}

static int xe_open(void **ret, const struct accel_host *host, struct err *err)
{
	struct xe *x = calloc(1, sizeof(*x));

	if (!x)
		return err_set(err, -ENOMEM, "no memory");
	x->host = *host;
	x->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (x->epoll < 0) {
		int rc = err_set(err, -errno, "cannot wait for GPUs");
		free(x);
		return rc;
	}
	*ret = x;
	return 0;
}

static int xe_set(void *runtime, const char *key, const char *value, struct err *err)
{
	struct xe *x = runtime;

	if (!strcmp(key, "device"))
		return vec_push(&x->devices, value) < 0 ? err_set(err, -ENOMEM, "no memory") : 0;
	if (parse_u64(value, 10, &x->period) < 0 || !x->period)
		return err_set(err, -EINVAL, "'%s' is no number of GPU cycles", value);
	return 0;
}

/* By its number here, from 0, its render node, or that one's name. */
static bool is_wanted(const struct xe *x, const struct xe_device *d, size_t number)
{
	const char *slash = strrchr(d->path, '/');
	char text[24];

	snprintf(text, sizeof(text), "%zu", number);
	vec_for_each(&x->devices, it)
		if (!strcmp(*it, text) || !strcmp(*it, d->path) ||
		    (slash && !strcmp(*it, slash + 1)))
			return true;
	return !x->devices.len;
}

static int add_unit(struct xe *x, const struct xe_device *d, struct xe_unit **ret, struct err *err)
{
	CLEANUP(xe_unit_free) struct xe_unit *u = NULL;

	if (xe_unit_new(&u, &x->host, &xe_kernel_real, d) < 0 || vec_push(&x->units, u) < 0)
		return err_set(err, -ENOMEM, "no memory");
	*ret = TAKE(u);
	return 0;
}

/* What the first one that cannot be sampled says is what there is to say. */
static int begin(struct xe *x, struct err *err)
{
	struct xe_device devices[XE_DEVICES_MAX];
	struct xe_unit *u;
	size_t count, tried = 0;
	int rc = xe_devices_find(&xe_kernel_real, devices, &count, err);

	x->is_on = true;
	for (size_t i = 0; i < count && rc == 0; i++) {
		if (!is_wanted(x, &devices[i], i))
			continue;
		tried++;
		rc = add_unit(x, &devices[i], &u, err);
		if (rc == 0)
			rc = xe_unit_start(u, x->epoll, x->period, err);
	}
	if (rc == 0 && !tried)
		rc = err_set(err, -EINVAL, "there is no Intel GPU '%s': there are %zu",
			     x->devices.data[0], count);
	return rc;
}

static int xe_start(void *runtime, struct err *err)
{
	struct xe *x = runtime;

	return x->is_on || !x->host.is_named ? 0 : begin(x, err);
}

static int xe_seen(void *runtime, const char *path)
{
	struct xe *x = runtime;
	struct err why = { "" };

	if (x->is_on ||
	    (!library_has_name("libze_intel_gpu", path) && !library_has_name("libigdrcl", path)))
		return 0;
	int rc = begin(x, &why);
	/* The driver's libraries may be here for another's sake: every OpenCL program maps all there are. */
	if (rc == -ENODEV && !x->units.len)
		return 0;
	return rc < 0 ? accel_info(x->host.writer, "missing.device-samples", why.text) : 0;
}

static int xe_succeed(void *runtime, void *before, struct err *err)
{
	struct xe *x = runtime, *old = before;
	struct xe_device devices[XE_DEVICES_MAX];
	struct xe_unit *u;
	size_t count;
	int rc = 0;

	if (!old->units.len)
		return 0;
	x->is_on = true;
	if (xe_devices_find(&xe_kernel_real, devices, &count, err) < 0)
		return 0; /* gone meanwhile */
	for (size_t i = 0; i < count; i++)
		vec_for_each(&old->units, it) {
			if (rc == 0 && xe_unit_is_at(*it, &devices[i])) {
				rc = add_unit(x, &devices[i], &u, err);
				if (rc == 0)
					rc = xe_unit_succeed(u, x->epoll, *it, err);
			}
		}
	return rc;
}

static int xe_loaded(void *runtime, const struct accel_code *code)
{
	struct xe *x = runtime;
	int rc = 0;

	vec_for_each(&x->units, it)
		rc = rc ? rc : xe_unit_loaded(*it, code, x->units.len == 1);
	return rc;
}

static int xe_unloaded(void *runtime, const struct accel_code *code)
{
	struct xe *x = runtime;

	vec_for_each(&x->units, it)
		xe_unit_unloaded(*it, code);
	return 0;
}

static int xe_exited(void *runtime, uint32_t process, uint64_t time_ns)
{
	const struct accel_code all = { .time_ns = time_ns, .process = process };

	return xe_unloaded(runtime, &all);
}

static int xe_fd(void *runtime)
{
	return ((struct xe *)runtime)->epoll;
}

static int read_all(struct xe *x, uint64_t now_ns, bool is_last)
{
	int rc = 0;

	vec_for_each(&x->units, it)
		rc = rc ? rc : xe_unit_read(*it, now_ns, is_last);
	return rc;
}

static int xe_read(void *runtime, uint64_t now_ns)
{
	return read_all(runtime, now_ns, false);
}

static int xe_drain(void *runtime, uint64_t until_ns)
{
	struct xe *x = runtime;
	int rc = 0;

	vec_for_each(&x->units, it)
		rc = rc ? rc : xe_unit_write(*it, until_ns);
	return rc;
}

static int xe_stop(void *runtime)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	int rc = read_all(runtime, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec, true);
	return rc < 0 ? rc : xe_drain(runtime, UINT64_MAX);
}

static int xe_describe(void *runtime)
{
	struct xe *x = runtime;
	int rc = 0;

	vec_for_each(&x->units, it)
		rc = rc ? rc : xe_unit_describe(*it);
	return rc;
}

static const struct probe_site no_sites[] = { { 0 } };
static const char *const no_libraries[] = { NULL };
static const struct accel_option options[] = {
	{ "period", "CYCLES" },
	{ "device", "NUMBER" },
	{ 0 },
};

const struct accel_ops xe_ops = {
	.name = "xe",
	.sites = no_sites,
	.libraries = no_libraries,
	.options = options,
	.open = xe_open,
	.set = xe_set,
	.succeed = xe_succeed,
	.start = xe_start,
	.seen = xe_seen,
	.exited = xe_exited,
	.loaded = xe_loaded,
	.unloaded = xe_unloaded,
	.fd = xe_fd,
	.read = xe_read,
	.drain = xe_drain,
	.stop = xe_stop,
	.describe = xe_describe,
	.close = xe_close,
};
