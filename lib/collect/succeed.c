/* SPDX-License-Identifier: Apache-2.0 */
/* From one session to the next without a gap: the new one is armed before the old one stops. */
#include "collect/session_internal.h"

#include "proc/read.h"
#include "proc/status.h"

#include <errno.h>
#include <string.h>

/* A target can end between being listed and being looked at. */
#define TRIES 5

struct pids {
	VEC(uint32_t) list;
};

/* Not ended, nor waiting for its parent to take note of that. */
static bool is_alive(uint32_t pid)
{
	CLEANUP_FREE char *text = NULL;
	struct proc_stat stat;
	size_t size;

	return proc_read(pid, "stat", PROC_SMALL_MAX_BYTES, &text, &size) == 0 &&
	       proc_stat_parse(span_of(text, size), "stat", &stat, NULL) == 0 &&
	       stat.state != 'Z' && stat.state != 'X';
}

static int list_targets(const struct session *s, struct pids *ret)
{
	ret->list.len = 0;
	hash_for_each(&s->known, slot) {
		if (slot->value == UINT64_MAX && is_alive((uint32_t)slot->key) &&
		    vec_push(&ret->list, (uint32_t)slot->key) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int open_next(struct session **ret, const struct session *before,
		     struct session_options *opt, struct err *err)
{
	CLEANUP(session_free) struct session *s = NULL;
	struct pids pids = { 0 };
	bool command_failed;
	int rc = 0;

	opt->command = NULL;
	if (!before->is_open && !opt->tid_count) {
		if (list_targets(before, &pids) < 0)
			rc = err_set(err, -ENOMEM, "no memory for the list of targets");
		if (rc >= 0 && !pids.list.len)
			rc = err_set(err, -ESRCH, "all that was recorded has ended");
		opt->pids = pids.list.data;
		opt->pid_count = pids.list.len;
	}
	if (rc >= 0)
		rc = session_open(&s, opt, err);
	if (rc >= 0)
		rc = accel_succeed(s->accel, before->accel, err);
	if (rc >= 0)
		rc = session_start(s, &command_failed, err);
	if (rc >= 0) {
		/* Only needed until here. */
		s->opt.pids = NULL;
		s->opt.pid_count = 0;
		*ret = TAKE(s);
	}
	vec_release(&pids.list);
	return rc;
}

/* Of a target, also one that has ended meanwhile: what it did is still to be taken. */
static int process_of(void *data, uint32_t pid, uint32_t *ret)
{
	struct session *s = data;
	struct process *process;
	int rc;

	if (s->is_open ? !is_alive(pid) : !hash_get(&s->known, pid))
		return 0;
	rc = process_get(&s->processes, pid, session_now(), &process);
	if (rc >= 0)
		rc = process_declare(&s->processes, process, ret);
	return rc < 0 ? rc : 1;
}

int session_inherit(struct session *s, const struct session *before, struct err *err)
{
	int rc = accel_inherit(s->accel, before->accel, process_of, s);

	return rc < 0 ? err_set(err, rc, "cannot tell the next file of kernels") : 0;
}

int session_succeed(struct session **ret, struct session *before, const struct session_options *opt,
		    struct err *err)
{
	int rc = -ESRCH;

	for (int i = 0; i < TRIES && rc == -ESRCH; i++) {
		struct session_options next = *opt;
		rc = open_next(ret, before, &next, err);
	}
	if (rc == -ESRCH)
		before->end = SESSION_TARGETS_ENDED;
	if (rc < 0)
		return rc;
	(*ret)->command = before->command;
	(*ret)->is_timer = before->is_timer;
	memset(&before->command, 0, sizeof(before->command));
	before->command.go = before->command.failure = before->command.pidfd = -1;
	return 0;
}
