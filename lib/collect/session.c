/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/session_internal.h"

#include "base/log.h"
#include "collect/pocl.h"
#include "collect/symbols.h"
#include "collect/target.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

/* A file of a target has been opened for the first time. */
static void on_open_object(void *data, struct object *object, const struct object_place *place)
{
	struct session *s = data;

	(void)place;
	if (object->flags & OBJECT_HOLDS_DEVICE_CODE)
		(void)pocl_keep(object, ++s->last_number, s->writer);
	(void)launch_object(s, object);
	if (s->python)
		(void)python_object(s->python, object);
}

/* A mapping of a process that was not told of as it came about. */
static int on_mapping(void *data, uint32_t pid, const struct object *object, uint64_t bias)
{
	struct session *s = data;

	return s->python ? python_look(s->python, pid, object, bias, 0) : 0;
}

/* What all names together may take: a day of a busy machine's. A target can make thousands a second. */
#define NAMES_MAX_BYTES (512ull << 20)

static int open_writer(struct session *s, struct err *err)
{
	struct capture_writer_options opt = { .path = s->opt.output,
					      .fd = -1,
					      .level = s->opt.level,
					      .string_bytes_max = NAMES_MAX_BYTES };

	return capture_writer_open(&s->writer, &opt, err);
}

int session_open(struct session **ret, const struct session_options *opt, struct err *err)
{
	CLEANUP(session_free) struct session *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return err_set(err, -ENOMEM, "no memory for the session");
	s->opt = *opt;
	s->is_timer = opt->command && (opt->cgroup || opt->pid_count || opt->tid_count);
	standing_raise(&s->standing);
	/* Early, as workers are copies of what we are now. */
	if (worker_start(&s->worker, err) < 0)
		log_debug("%s", err->text);
	if ((rc = open_writer(s, err)) < 0 || (rc = objects_init(&s->objects, err)) < 0)
		return rc;
	s->objects.on_open = on_open_object;
	s->objects.data = s;
	processes_init(&s->processes, s->writer, &s->objects);
	s->processes.on_mapping = on_mapping;
	s->processes.data = s;
	s->processes.rank = (uint32_t)(opt->rank + 1);
	s->samples.writer = s->writer;
	s->samples.processes = &s->processes;
	s->samples.objects = &s->objects;
	s->blocked.samples = &s->samples;
	s->windows.asked = opt->windows;
	s->windows.asked_count = opt->window_count;
	s->has_windows = opt->window_count || opt->waits_for_enable || opt->watch_count;
	if (s->has_windows)
		capture_writer_want(s->writer, windows_want, &s->windows);
	rc = engine_open(s, err);
	if (rc < 0)
		return rc;
	*ret = TAKE(s);
	return 0;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	sampler_close(&s->sampler);
	command_close(&s->command);
	sideband_close(&s->sideband);
	ring_close(s->ring);
	unwinder_close(s->unwinder);
	python_close(s->python);
	perf_threads_release(&s->threads);
	windows_release(&s->windows);
	cgroup_close(&s->cgroup);
	launch_close(s);
	programs_close(&s->programs);
	vec_release(&s->staged.bytes);
	vec_release(&s->staged.items);
	order_release(&s->order);
	blocked_release(&s->blocked);
	processes_release(&s->processes);
	objects_release(&s->objects);
	hash_release(&s->known);
	capture_writer_free(s->writer);
	worker_free(s->worker);
	vec_for_each(&s->environment, it)
		free(*it);
	vec_release(&s->environment);
	free(s);
}

static int on_target(void *data, uint32_t pid)
{
	struct session *s = data;
	struct process *process;

	int rc = intake_add_target(s, pid);
	if (rc >= 0 && s->unwinder)
		rc = unwinder_mark(s->unwinder, pid, 0);
	return rc < 0 ? rc : process_get(&s->processes, pid, session_now(), &process);
}

static int fork_command(struct session *s, struct err *err)
{
	int rc = launch_environment(s);

	if (rc < 0)
		return err_set(err, rc, "no memory for the command");
	return command_fork(&s->command, s->opt.command, (const char *const *)s->environment.data,
			    &s->standing, err);
}

static int add_command(struct session *s, struct err *err)
{
	uint32_t flags = TARGET_STARTING | (s->opt.no_children ? 0 : TARGET_INHERIT);

	int rc = programs_add_target(&s->programs, (uint32_t)s->command.pid, flags, err);
	if (rc < 0)
		return rc;
	struct process *process;
	rc = intake_add_target(s, (uint32_t)s->command.pid);
	if (rc >= 0)
		rc = process_adopt(&s->processes, (uint32_t)s->command.pid, s->start_ns, &process);
	return rc < 0 ? err_set(err, rc, "no memory for the command") : 0;
}

static int on_member(void *data, uint32_t pid)
{
	return intake_add_target(data, pid);
}

static int add_targets(struct session *s, struct err *err)
{
	/* Whoever is not known yet is met when it is first seen running. */
	if (s->opt.cgroup && cgroup_processes(&s->cgroup, on_member, s) < 0)
		return err_set(err, -ENOMEM, "no memory for the processes of a control group");
	if (s->opt.command && !s->is_timer)
		return add_command(s, err);
	if (s->is_open)
		return 0;
	if (s->opt.tid_count)
		return targets_add_threads(&s->programs, s->opt.tids, s->opt.tid_count, on_target,
					   s, err);
	return targets_add(&s->programs, s->opt.pids, s->opt.pid_count, s->opt.no_children,
			   on_target, s, err);
}

static int write_failed(struct session *s, int code, struct err *err)
{
	const char *text = capture_writer_error(s->writer);

	if (*text)
		return err_set(err, -EINVAL, "%s", text);
	return err_set(err, code, "cannot write the capture");
}

int session_start(struct session *s, bool *ret_command_failed, struct err *err)
{
	int rc;

	*ret_command_failed = false;
	s->start_ns = s->second_ns = session_now();
	if (s->opt.command && (rc = fork_command(s, err)) < 0)
		return rc;
	if ((rc = engine_watch(s, err)) < 0)
		return rc;
	if ((rc = info_begin(s)) < 0 || (rc = capture_writer_flush(s->writer)) < 0)
		return write_failed(s, rc, err);
	if ((rc = launch_start(s, err)) < 0 || (rc = add_targets(s, err)) < 0)
		return rc;
	/* Before the first sample: none has to wait for its tables. */
	if (s->unwinder && (rc = unwinder_publish(s->unwinder, session_now())) < 0)
		return err_set(err, rc, "no memory for unwind tables");
	if ((rc = engine_start(s, err)) < 0 || (rc = launch_insert(s, err)) < 0)
		return rc;
	if (windows_start(&s->windows, session_now(), !s->opt.waits_for_enable) < 0)
		return err_set(err, -ENOMEM, "no memory for windows");
	if (!windows_are_open(&s->windows) && (rc = sampler_pause(&s->sampler, true)) < 0)
		return err_set(err, rc, "cannot pause the sampler");
	if (s->opt.command) {
		rc = command_start(&s->command, s->opt.command[0], err);
		if (rc < 0) {
			*ret_command_failed = true;
			return rc;
		}
	}
	s->armed_ns = session_now();
	return capture_writer_commit(s->writer, err);
}

int session_count_losses(struct session *s)
{
	int rc = programs_losses(&s->programs, s->losses.now);

	s->losses.now[LOSS_MAPPING_LIMIT] = s->processes.unknown_mappings;
	s->losses.now[LOSS_OBJECT_UNOPENED] = s->objects.unopened;
	s->losses.now[LOSS_SAMPLE_RING_FULL] += sampler_lost(&s->sampler);
	s->losses.now[LOSS_MALFORMED] = s->sideband.events.malformed +
					sampler_malformed(&s->sampler) + s->malformed_probes +
					(s->ring ? ring_malformed(s->ring) : 0);
	return rc;
}

static uint64_t cpu_time_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

static int fill_result(struct session *s, struct session_result *ret)
{
	struct cost_total costs[COST_COUNT];
	struct capture_writer_stats stats = capture_writer_stats(s->writer);

	int rc = programs_costs(&s->programs, costs);
	if (rc < 0)
		return rc;
	command_poll(&s->command);
	*ret = (struct session_result){
		.end = s->end,
		.exit_status = command_exit_status(&s->command),
		.event = s->sampler.kind.name,
		.is_perf = s->is_perf,
		.bytes = stats.bytes,
		.raw_bytes = stats.raw_bytes,
		.samples = s->samples.count,
		.launches = s->last_correlation,
		.device_samples = stats.device_samples,
		.has_windows = s->has_windows,
		.windows = s->windows.list.len,
		.lost_total = losses_total(&s->losses),
		.late = s->order.late,
		.wall_ns = s->ended_ns - s->armed_ns,
		.recorder_ns = cpu_time_ns(),
		.sample_ns = costs[COST_SAMPLE].time_ns,
		.probe_ns = costs[COST_PROBE].time_ns,
		.blocked_ns = costs[COST_BLOCKED].time_ns,
	};
	memcpy(ret->lost, s->losses.now, sizeof(ret->lost));
	for (size_t i = 0; i < ACCEL_LOSSES_MAX; i++)
		ret->accel_lost[i] = accel_loss(s->accel, i);
	snprintf(ret->write_error, sizeof(ret->write_error), "%s", capture_writer_error(s->writer));
	return 0;
}

/* Everything that is still in the rings, and the closing records. */
static int finish_file(struct session *s, struct session_result *result)
{
	int rc;

	if ((rc = accel_read(s->accel, s->ended_ns)) < 0 || (rc = intake_drain(s)) < 0 ||
	    (rc = take_until(s, UINT64_MAX)) < 0 ||
	    (rc = blocked_finish(&s->blocked, s->ended_ns)) < 0 || (rc = launch_stop(s)) < 0 ||
	    (rc = session_count_losses(s)) < 0 ||
	    (rc = losses_report(&s->losses, s->writer, session_now())) < 0 ||
	    (rc = info_clock(s)) < 0 || (rc = capture_writer_flush(s->writer)) < 0 ||
	    (rc = symbols_write(s)) < 0 || (rc = fill_result(s, result)) < 0 ||
	    (rc = info_end(s, result)) < 0)
		return rc;
	return capture_writer_flush(s->writer);
}

int session_stop(struct session *s, struct session_result *ret, struct err *err)
{
	struct session_result result = { 0 };
	int rc = s->write_error;

	(void)sampler_pause(&s->sampler, true);
	s->ended_ns = session_now();
	if (rc == 0)
		rc = finish_file(s, &result);
	if (rc < 0 && !*capture_writer_error(s->writer))
		return err_set(err, rc, "cannot finish the capture");
	if (rc < 0)
		s->end = SESSION_WRITE_ERROR;
	rc = fill_result(s, &result);
	if (rc < 0)
		return err_set(err, rc, "cannot read the programs' counters");
	*ret = result;
	return 0;
}

int session_enable(struct session *s, bool is_on)
{
	int rc = windows_switch(&s->windows, session_now(), is_on);

	return rc > 0 ? sampler_pause(&s->sampler, !is_on) : rc;
}

bool session_is_enabled(const struct session *s)
{
	return windows_are_open(&s->windows);
}

enum session_end session_end(const struct session *s)
{
	return s->end;
}

void session_signal_command(struct session *s, int signal)
{
	command_signal(&s->command, signal);
}

int session_wait_command(struct session *s)
{
	return command_wait(&s->command);
}
