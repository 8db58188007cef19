/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/opencl.h"

#include "accel/info.h"
#include "accel/runtimes.h"
#include "inject/message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static int opencl_open(void **ret, const struct accel_host *host, struct err *err)
{
	struct opencl *o = calloc(1, sizeof(*o));

	if (!o)
		return err_set(err, -ENOMEM, "no memory");
	o->host = *host;
	*ret = o;
	return 0;
}

static void opencl_close(void *runtime)
{
	struct opencl *o = runtime;

	process_index_release(&o->processes, opencl_process_free);
	hash_release(&o->device_names);
	free(o);
}

static int opencl_event(void *runtime, const struct accel_event *e)
{
	struct opencl *o = runtime;
	struct opencl_process *p = opencl_process(o, e);
	int rc;

	if (!p)
		return -ENOMEM;
	switch (e->site->id) {
	case SITE_POCL_SUBMITTED:
	case SITE_POCL_RUNNING:
	case SITE_POCL_COMPLETE:
		return pocl_event(o, p, e);
	case SITE_TOLD:
		return opencl_told(o, p, e);
	case SITE_TIMES:
		return 0;
	default:
		break;
	}
	/* Every other hit is a call that the thread makes: the one before has returned. */
	rc = opencl_thread_seen(o, p, e);
	if (rc < 0)
		return rc;
	switch (e->site->id) {
	case SITE_FINISH:
	case SITE_WAIT:
		return opencl_waiting(o, p, e);
	case SITE_USER_EVENT:
		return 0;
	case SITE_CREATE_KERNEL:
		return opencl_kernel_created(o, p, e);
	case SITE_CREATE_KERNELS:
		return opencl_kernels_created(o, p, e);
	case SITE_CLONE_KERNEL:
		return opencl_kernel_cloned(o, p, e);
	case SITE_KERNEL_INFO:
		return opencl_kernel_told(o, p, e);
	case SITE_SOURCE:
	case SITE_IL:
	case SITE_BINARY:
		return opencl_program_created(o, p, e);
	case SITE_QUEUE:
	case SITE_QUEUE_PROPERTIES:
		return opencl_queue_created(o, p, e);
	default:
		return opencl_launched(o, p, e);
	}
}

static int opencl_exited(void *runtime, uint32_t process, uint64_t time_ns)
{
	struct opencl *o = runtime;
	struct opencl_process *p = process_index_take(&o->processes, process);
	int rc;

	(void)time_ns;
	if (!p)
		return 0;
	rc = opencl_waits_end(o, p, 0);
	if (!p->has_pocl)
		o->stats.untimed += p->launches - p->timed;
	opencl_process_free(p);
	return rc;
}

static int opencl_stop(void *runtime)
{
	struct opencl *o = runtime;
	int rc = 0;

	process_index_for_each(&o->processes, struct opencl_process, p) {
		rc = rc ? rc : opencl_waits_end(o, p, 0);
		if (!p->has_pocl) {
			o->stats.untimed += p->launches - p->timed;
			p->launches = p->timed = 0;
		}
	}
	return rc;
}

static int opencl_describe(void *runtime)
{
	struct opencl *o = runtime;
	const struct opencl_stats *s = &o->stats;
	struct capture_writer *w = o->host.writer;
	char text[256];
	int rc = 0;

	if (s->untimed) {
		snprintf(text, sizeof(text),
			 "%" PRIu64 " of %" PRIu64 " OpenCL launches went to a runtime that %s",
			 s->untimed, s->launches,
			 o->wants_times ? "did not tell when work started and ended"
					: "tells when work starts and ends only if it is asked: "
					  "--accel opencl:times");
		rc = accel_info(w, "missing.device-time", text);
	}
	rc = rc ? rc : accel_info_number(w, "opencl.launches", s->launches);
	rc = rc ? rc : accel_info_number(w, "opencl.joined-in-call", s->joined_in_call);
	rc = rc ? rc : accel_info_number(w, "opencl.joined-in-order", s->joined_in_order);
	rc = rc ? rc : accel_info_number(w, "opencl.launched-before", s->before);
	rc = rc ? rc : accel_info_number(w, "opencl.launch-unseen", s->unseen);
	rc = rc ? rc : accel_info_number(w, "opencl.given-up", s->given_up);
	rc = rc ? rc : accel_info_number(w, "opencl.unnamed-kernels", s->unnamed);
	rc = rc ? rc : accel_info_number(w, "opencl.cut-programs", s->cut);
	rc = rc ? rc : accel_info_number(w, "opencl.located-kernels", s->located);
	rc = rc ? rc : accel_info_number(w, "opencl.timed", s->timed);
	return rc;
}

static int opencl_set(void *runtime, const char *key, const char *value, struct err *err)
{
	struct opencl *o = runtime;

	(void)key, (void)value, (void)err;
	o->wants_times = true;
	return 0;
}

static bool opencl_wants(void *runtime, const struct probe_site *site, bool samples)
{
	const struct opencl *o = runtime;

	(void)site, (void)samples;
	return o->wants_times;
}

static const struct accel_option options[] = {
	{ "times", NULL },
	{ 0 },
};

const struct accel_ops opencl_ops = {
	.name = "opencl",
	.sites = opencl_sites,
	.libraries = opencl_libraries,
	.door = { .variable = "OPENCL_LAYERS",
		  .is_list = true,
		  .library = INJECT_OPENCL_FILE,
		  .runtime = "libigdrcl",
		  .function = "accel_prof_opencl_start" },
	.options = options,
	.open = opencl_open,
	.set = opencl_set,
	.wants = opencl_wants,
	.event = opencl_event,
	.exited = opencl_exited,
	.stop = opencl_stop,
	.describe = opencl_describe,
	.close = opencl_close,
};
