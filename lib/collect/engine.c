/* SPDX-License-Identifier: Apache-2.0 */
/* The two ways to have the kernel take samples: by our programs, or by perf events alone. */
#include "collect/session_internal.h"

#include "base/log.h"
#include "collect/target.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static const enum stack_mode stack_modes[] = {
	[SESSION_STACKS_TABLE] = STACK_MODE_TABLE,
	[SESSION_STACKS_FP] = STACK_MODE_FP,
	[SESSION_STACKS_NONE] = STACK_MODE_NONE,
};

static struct sampler_options sampler_options_of(const struct session *s)
{
	return (struct sampler_options){
		.event = s->opt.event_count ? s->opt.events[0] : NULL,
		.frequency = s->opt.frequency,
		.period = s->opt.period,
		.scope = { .cpus = s->opt.cpus, .cpu_count = s->opt.cpu_count },
		.no_children = s->opt.no_children,
		.stacks = stack_modes[s->opt.stacks],
	};
}

static int open_unwinder(struct session *s, struct err *err)
{
	if (s->opt.stacks != SESSION_STACKS_TABLE)
		return 0;
	int rc = unwinder_open(&s->unwinder, &s->programs, &s->objects, s->worker, s->python, err);
	s->samples.unwinder = s->unwinder;
	return rc;
}

static struct programs_targets targets_of(const struct session *s)
{
	return (struct programs_targets){
		.mode = s->opt.cgroup ? TARGET_MODE_CGROUP
			: s->opt.all  ? TARGET_MODE_ALL
				      : TARGET_MODE_LISTED,
		.cgroup = s->cgroup.id,
		.level = s->cgroup.level,
		.by_thread = s->opt.tid_count != 0,
	};
}

/* How many of the events are tracepoints. One that is none is told of when the sampler is opened. */
static size_t count_tracepoints(const struct session *s)
{
	struct event_kind kind;
	size_t count = 0;

	for (size_t i = 0; i < s->opt.event_count; i++)
		count += event_kind_parse(s->opt.events[i], &kind, NULL) == 0 && kind.is_tracepoint;
	return count;
}

static_assert(SESSION_EVENTS_MAX == EVENT_KINDS, "the programs' events are the session's");

static int open_samplers(struct session *s, struct sampler_options *opt, struct err *err)
{
	int rc = sampler_open(&s->sampler, opt, err);

	for (size_t i = 1; i < s->opt.event_count && rc >= 0; i++) {
		opt->event = s->opt.events[i];
		rc = sampler_add(&s->sampler, opt, err);
	}
	for (const struct sampler *m = &s->sampler; m && rc >= 0; m = m->next)
		s->samples.events[m->number] = m->kind.name;
	return rc;
}

static int open_bpf(struct session *s, struct err *err)
{
	static const enum blocked_mode waits[] = {
		[SESSION_WAITS_LAUNCHES] = BLOCKED_MODE_LAUNCHES,
		[SESSION_WAITS_ALL] = BLOCKED_MODE_ALL,
		[SESSION_WAITS_NONE] = BLOCKED_MODE_NONE,
	};
	const size_t tracepoints = count_tracepoints(s);
	const bool is_attached = s->opt.pid_count != 0;
	const struct programs_options opt = {
		.targets = targets_of(s),
		.ring_bytes = s->opt.ring_bytes,
		.stacks = stack_modes[s->opt.stacks],
		.blocked = waits[s->opt.waits],
		.by_tracepoint = tracepoints != 0,
		.by_tracepoint_only = tracepoints && tracepoints == s->opt.event_count,
		.tracepoint_period = s->opt.period < UINT32_MAX ? (uint32_t)s->opt.period : 1,
		.max_stack = s->opt.max_stack,
		.stack_share = s->opt.stack_share,
		/* What runs already may load a runtime later, and will take longer to set that up than
		 * we to load a program. */
		.is_late = { [PROGRAMS_LAUNCHES] = is_attached && !launch_is_near(s),
			     [PROGRAMS_WAITS] = is_attached && s->opt.waits != SESSION_WAITS_ALL },
	};
	struct sampler_options sampler = sampler_options_of(s);
	const struct perf_scope everyone = { 0 };
	int rc;

	if ((rc = programs_open(&s->programs, &opt, err)) < 0 ||
	    (rc = python_open(&s->python, &s->programs, s->writer, err)) < 0 ||
	    (rc = launch_probe(s, err)) < 0 || (rc = intake_open_ring(s, err)) < 0 ||
	    (rc = sideband_open(&s->sideband, &everyone, SIDEBAND_RING_BYTES, err)) < 0 ||
	    (rc = open_unwinder(s, err)) < 0)
		return rc;
	s->samples.python = s->python;
	return open_samplers(s, &sampler, err);
}

/* What says that BPF is not for us here, and not that something is wrong. */
static bool is_refusal(int code)
{
	return code == -EPERM || code == -EACCES || code == -EOPNOTSUPP || code == -ENOSYS ||
	       code == -EINVAL || code == -ENOTSUP;
}

static int choose_stacks(struct session *s, struct err *err)
{
#if defined(__x86_64__)
	const bool has_tables = true;
#else
	const bool has_tables = false;
#endif

	if (s->opt.stacks == SESSION_STACKS_TABLE && !has_tables)
		return err_set(err, -ENOTSUP,
			       "there are no unwind tables for this processor yet: use "
			       "--call-graph fp");
	if (s->opt.stacks == SESSION_STACKS_AUTO)
		s->opt.stacks = has_tables ? SESSION_STACKS_TABLE : SESSION_STACKS_FP;
	return 0;
}

int engine_open(struct session *s, struct err *err)
{
	int rc = choose_stacks(s, err);

	if (rc < 0)
		return rc;

	s->is_open = s->opt.all || s->opt.cgroup;
	if (s->opt.cgroup && (rc = cgroup_find(s->opt.cgroup, &s->cgroup, err)) < 0)
		return rc;
	if ((rc = launch_open(s, err)) < 0)
		return rc;
	if (s->opt.engine != SESSION_ENGINE_PERF) {
		rc = open_bpf(s, err);
		if (rc >= 0 || s->opt.engine == SESSION_ENGINE_BPF || s->programs.skeleton ||
		    !is_refusal(rc))
			return rc;
		log_debug("%s", err->text);
		snprintf(s->why_perf, sizeof(s->why_perf), "%s", err->text);
	}
	s->is_perf = true;
	return open_unwinder(s, err);
}

static int on_pid(void *data, uint32_t pid)
{
	struct session *s = data;

	return perf_threads_add(&s->threads, pid);
}

/* The threads that there are; those to come are the kernel's to follow. */
static int find_threads(struct session *s, struct err *err)
{
	if (s->opt.command && !s->is_timer)
		return perf_threads_add(&s->threads, (uint32_t)s->command.pid);
	if (s->opt.tid_count)
		return targets_add_threads(&s->programs, s->opt.tids, s->opt.tid_count, on_pid, s,
					   err);
	return targets_add(&s->programs, s->opt.pids, s->opt.pid_count, s->opt.no_children, on_pid,
			   s, err);
}

int engine_watch(struct session *s, struct err *err)
{
	struct sampler_options sampler = sampler_options_of(s);
	struct perf_scope scope = { .cgroup_fd = s->cgroup.fd };
	int rc = 0;

	if (!s->is_perf)
		return 0;
	if (!s->is_open && (rc = find_threads(s, err)) < 0)
		return rc;
	if (!s->is_open) {
		scope.tids = s->threads.tids.data;
		scope.tid_count = s->threads.tids.len;
	}
	rc = sideband_open(&s->sideband, &scope, SIDEBAND_RING_BESIDE, err);
	if (rc < 0)
		return rc;
	sampler.with_rings = true;
	sampler.at_exec = s->opt.command && !s->is_timer && !s->is_open && !s->opt.window_count &&
			  !s->opt.waits_for_enable;
	sampler.scope.cgroup_fd = scope.cgroup_fd;
	sampler.scope.tids = s->opt.tid_count ? s->opt.tids : scope.tids;
	sampler.scope.tid_count = s->opt.tid_count ? s->opt.tid_count : scope.tid_count;
	return open_samplers(s, &sampler, err);
}

int engine_start(struct session *s, struct err *err)
{
	int rc = sampler_start(&s->sampler, s->is_perf ? NULL : &s->programs, err);

	if (rc < 0 || s->opt.waits != SESSION_WAITS_ALL)
		return rc;
	rc = programs_follow_waits(&s->programs);
	return rc < 0 ? err_set(err, rc, "cannot follow the scheduler") : 0;
}
