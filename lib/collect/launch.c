/* SPDX-License-Identifier: Apache-2.0 */
/* The accelerators of a session: their runtimes, and the probes that feed them. */
#include "collect/session_internal.h"

#include "collect/insert.h"
#include "collect/library.h"
#include "proc/maps.h"
#include "proc/read.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>

static uint64_t next_correlation(void *data)
{
	return ++((struct session *)data)->last_correlation;
}

static uint32_t next_number(void *data)
{
	return ++((struct session *)data)->last_number;
}

static int read_target(void *data, uint32_t pid, uint64_t address, void *ret, size_t size)
{
	struct iovec local = { .iov_base = ret, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };
	ssize_t got = process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);

	(void)data;
	if (got < 0)
		return -errno;
	return (size_t)got == size ? 0 : -EFAULT;
}

static bool is_target(void *data, uint32_t pid)
{
	const struct session *s = data;

	return s->is_open || hash_get(&s->known, pid);
}

int launch_open(struct session *s, struct err *err)
{
	struct accel_host host = {
		.writer = s->writer,
		.correlation = next_correlation,
		.number = next_number,
		.read = read_target,
		.is_target = is_target,
		.is_succeeded = s->opt.is_succeeded,
		.data = s,
	};

	return accel_open(&s->accel, &host, s->opt.accel, err);
}

int launch_probe(struct session *s, struct err *err)
{
	return probes_open(&s->probes, &s->programs, s->accel, s->opt.instructions, err);
}

/* A library that cannot be probed costs its launches, not the recording. */
static int attach(struct session *s, int fd, const char *path)
{
	struct err err;
	int rc = probes_attach(s->probes, fd, path, &err);

	if (rc >= 0 || rc == -ENOMEM)
		return rc < 0 ? rc : 0;
	return info_put(s, "missing.launches", err.text);
}

static int add_variable(struct session *s, const char *variable, const char *value)
{
	char *text;

	if (asprintf(&text, "%s%s%s", variable, *value ? "=" : "", value) < 0)
		return -ENOMEM;
	if (vec_push(&s->environment, text) == 0)
		return 0;
	free(text);
	return -ENOMEM;
}

/* A program with AddressSanitizer refuses to start when anything is loaded before that; ours takes nothing from it. */
static int calm_sanitizer(struct session *s)
{
	CLEANUP_FREE char *options = NULL;
	const char *given = getenv("ASAN_OPTIONS");

	if (asprintf(&options, "%s%sverify_asan_link_order=0", given ? given : "",
		     given && *given ? ":" : "") < 0)
		return -ENOMEM;
	return add_variable(s, "ASAN_OPTIONS", options);
}

static int open_door(struct session *s, const struct accel_door *door)
{
	CLEANUP_FREE char *path = library_own(door->library), *needed = NULL, *list = NULL;
	const char *given = getenv(door->variable);

	if (door->needs)
		needed = library_find(door->needs);
	/* Another tool's library may be named there, where there can be only one. */
	if (!path || (door->needs && !needed) || (given && !door->is_list))
		return 0;
	if (!strcmp(door->variable, "LD_PRELOAD") && calm_sanitizer(s) < 0)
		return -ENOMEM;
	if (!given || !*given)
		return add_variable(s, door->variable, path);
	if (asprintf(&list, "%s:%s", path, given) < 0)
		return -ENOMEM;
	return add_variable(s, door->variable, list);
}

int launch_environment(struct session *s)
{
	const char *const *given = s->opt.environment;
	const struct accel_door *door;
	int rc = 0;

	for (; given && *given && rc == 0; given++)
		rc = add_variable(s, *given, "");
	/* Nobody looks at what it does, and each program that it starts would load our libraries. */
	if (rc == 0 && s->is_timer)
		return vec_push(&s->environment, NULL);
	for (size_t i = 0;
	     rc == 0 && !s->opt.no_inject && !s->is_perf && (door = accel_door(s->accel, i)); i++) {
		rc = open_door(s, door);
	}
	for (size_t i = 0; rc == 0; i++) {
		CLEANUP_FREE char *variable = NULL;
		int got = accel_environment(s->accel, i, &variable);
		if (got <= 0) {
			rc = got;
			break;
		}
		if (variable)
			rc = add_variable(s, variable, "");
	}
	return rc ? rc : vec_push(&s->environment, NULL);
}

/* Whether @pid maps a library that @has says yes to: 1, else 0. */
static int look_at(uint32_t pid, bool (*has)(const void *data, const char *path), const void *data)
{
	CLEANUP_FREE char *text = NULL;
	struct proc_mapping m;
	size_t size;
	int rc = proc_read(pid, "maps", PROC_MAPS_MAX_BYTES, &text, &size);

	if (rc < 0)
		return rc;
	struct lines lines = lines_of(span_of(text, size), "maps");
	while (proc_maps_next(&lines, &m, NULL) > 0) {
		CLEANUP_FREE char *path =
			m.is_executable ? strndup((const char *)m.path.data, m.path.size) : NULL;
		if (m.is_executable && !path)
			return -ENOMEM;
		if (path && has(data, path))
			return 1;
	}
	return 0;
}

static bool is_runtime(const void *data, const char *path)
{
	return library_has_name(data, path);
}

static bool is_probed(const void *data, const char *path)
{
	return probes_want(data, path);
}

bool launch_is_near(const struct session *s)
{
	for (size_t i = 0; i < s->opt.pid_count; i++) {
		if (look_at(s->opt.pids[i], is_probed, s->accel) > 0)
			return true;
	}
	return false;
}

/* 1: it has it now; 0: there is nothing in it that we have a library for. */
static int insert_in(uint32_t pid, const struct accel_door *door, struct err *err)
{
	CLEANUP_FREE char *path = library_own(door->library);
	int rc = look_at(pid, is_runtime, door->runtime);

	if (rc <= 0)
		return rc < 0 ? err_set(err, rc, "cannot look at process %u", pid) : 0;
	if (!path)
		return err_set(err, -ENOENT, "'%s' is not installed beside this program",
			       door->library);
	/* Its thread may be where it cannot be interrupted so: another moment is another chance. */
	for (int attempt = 0; attempt < 3; attempt++) {
		rc = insert_library(pid, path, door->function, err);
		if (rc != -EAGAIN)
			break;
	}
	return rc < 0 ? rc : 1;
}

int launch_insert(struct session *s, struct err *err)
{
	const struct accel_door *door;
	int count = 0;

	if (!s->opt.inject)
		return 0;
	for (size_t i = 0; i < s->opt.pid_count; i++)
		for (size_t k = 0; (door = accel_door(s->accel, k)); k++) {
			int rc = insert_in(s->opt.pids[i], door, err);
			if (rc < 0)
				return rc;
			count += rc;
		}
	return count ? 0
		     : err_set(err, -ENOTSUP,
			       "no process to inject a library into uses CUDA or an Intel GPU");
}

static int attach_installed(struct session *s, const char *soname)
{
	CLEANUP_FREE char *found = library_find(soname), *own = found ? NULL : library_own(soname);
	const char *path = found ? found : own;
	CLEANUP_CLOSE int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	return fd < 0 ? 0 : attach(s, fd, path);
}

int launch_start(struct session *s, struct err *err)
{
	int rc = accel_start(s->accel, err);
	const char *soname;

	/* A command is probed before it starts; what it loads from elsewhere, and processes that
	 * run, by launch_object(). */
	for (size_t i = 0;
	     rc >= 0 && s->probes && s->opt.command && !s->is_timer && (soname = accel_library(i));
	     i++)
		rc = attach_installed(s, soname);
	return rc;
}

int launch_object(struct session *s, const struct object *object)
{
	int rc = accel_seen(s->accel, object->path);

	if (rc < 0 || object->fd < 0 || !s->probes || !probes_want(s->accel, object->path))
		return rc;
	/* Where nothing has to be loaded for it, before the first wait and not soon after. */
	if (s->programs.part[PROGRAMS_WAITS] && (rc = launch_seen(s)) < 0)
		return rc;
	return attach(s, object->fd, object->path);
}

int launch_seen(struct session *s)
{
	if (s->follows_waits)
		return 0;
	s->follows_waits = true;
	/* Someone uses an accelerator: what keeps it waiting for work may be waiting itself. */
	return programs_follow_waits(&s->programs) < 0
		       ? info_put(s, "missing.blocked",
				  "cannot follow the scheduler: -v tells more")
		       : 0;
}

int launch_take(struct session *s, const struct event_header *event)
{
	const struct event_stack *stack = event_stack(event);
	struct accel_event hit;
	struct thread *thread;
	int rc;

	rc = probes_take(s->probes, event, &hit);
	s->malformed_probes += rc == -EBADMSG;
	if (rc <= 0)
		return rc == -EBADMSG ? 0 : rc;
	rc = thread_get(&s->processes, event->pid, event->tid, event->time_ns, &thread);
	if (rc < 0 || (rc = thread_declare(&s->processes, thread, &hit.thread)) < 0 ||
	    (rc = process_declare(&s->processes, thread->process, &hit.process)) < 0)
		return rc;
	rc = 0;
	if (stack)
		rc = sample_stack(&s->samples, thread->process, stack, event->time_ns, &hit.stack);
	else if (hit.flags & ACCEL_EVENT_UNSTACKED)
		rc = capture_writer_stack(s->writer, NULL, 0, STACK_NOT_TAKEN, &hit.stack);
	if (rc < 0)
		return rc;
	return accel_event(s->accel, &hit);
}

int launch_gone(struct session *s, uint32_t pid, uint64_t time_ns)
{
	uint64_t *known = hash_get(&s->processes.by_pid, pid);

	if (!known)
		return 0;
	const struct process *process = (const struct process *)(uintptr_t)*known;
	return accel_exited(s->accel, process->id, time_ns);
}

int launch_stop(struct session *s)
{
	int rc = accel_stop(s->accel);

	return rc < 0 ? rc : accel_describe(s->accel);
}

void launch_close(struct session *s)
{
	probes_close(s->probes);
	accel_free(s->accel);
}
