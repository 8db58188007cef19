/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/session_internal.h"

#include "proc/read.h"

#include <errno.h>

/* Thread @tid of process @pid ends, and with it the process if it @is_last. */
static int take_end(struct session *s, uint32_t pid, uint32_t tid, bool is_last, uint64_t time_ns)
{
	int rc = is_last ? launch_gone(s, pid, time_ns) : 0;

	blocked_forget(&s->blocked, tid);
	process_exit(&s->processes, pid, tid, is_last, time_ns);
	if (is_last && s->is_perf)
		intake_target_ended(s, pid, time_ns);
	return rc;
}

static int take_exit(struct session *s, const struct event_exit *e)
{
	return take_end(s, e->header.pid, e->header.tid, e->is_last, e->header.time_ns);
}

static int take_side(struct session *s, const struct item_side *item)
{
	const struct side_event *e = &item->event;
	struct span text = span_of(item->text, item->text_size);
	int rc;

	switch ((enum side_type)e->type) {
	case SIDE_EXEC:
		rc = launch_gone(s, e->pid, e->time_ns);
		if (rc < 0)
			return rc;
		return process_exec(&s->processes, e->pid, text, e->time_ns);
	case SIDE_COMM:
		return thread_rename(&s->processes, e->pid, e->tid, text, e->time_ns);
	case SIDE_MMAP:
		return process_map(&s->processes, e->pid, e->start, e->start + e->size, e->offset,
				   item->object, e->time_ns);
	case SIDE_FORK:
		rc = perf_threads_born(&s->threads, e->pid, e->parent_pid);
		if (rc >= 0)
			rc = intake_add_target(s, e->pid);
		return rc < 0 ? rc
			      : process_fork(&s->processes, e->parent_pid, e->parent_tid, e->pid,
					     e->tid, e->time_ns);
	case SIDE_EXIT:
		return take_end(s, e->pid, e->tid, perf_threads_died(&s->threads, e->pid, e->tid),
				e->time_ns);
	case SIDE_LOST:
		break;
	}
	return 0;
}

/* The side-band has told of it before the new image's mappings; this says what else it is. */
static int take_exec(struct session *s, const struct event_exec *e)
{
	struct span arguments = span_of(e->arguments, e->arguments_size);
	char late[EVENT_ARGUMENTS_MAX];

	/* The kernel tells of an exec before the new arguments are there. */
	if (s->is_perf && !e->arguments_size) {
		int64_t size = proc_read_some(e->header.pid, "cmdline", late, sizeof(late));
		if (size > 0)
			arguments = span_of(late, (size_t)size);
	}
	return process_complete(&s->processes, e->header.pid, e->uid, arguments, e->header.time_ns);
}

static int take_fork(struct session *s, const struct event_fork *e)
{
	return process_fork(&s->processes, e->header.pid, e->header.tid, e->child_pid, e->child_tid,
			    e->header.time_ns);
}

static int take_event(struct session *s, const struct event_header *e)
{
	switch ((enum event_type)e->type) {
	case EVENT_SAMPLE:
		return sample_take(&s->samples, (const struct event_sample *)e);
	case EVENT_BLOCK:
		return blocked_begin(&s->blocked, (const struct event_block *)e);
	case EVENT_RESUME:
		return blocked_end(&s->blocked, (const struct event_resume *)e);
	case EVENT_FORK:
		return take_fork(s, (const struct event_fork *)e);
	case EVENT_EXIT:
		return take_exit(s, (const struct event_exit *)e);
	case EVENT_PROBE:
		return launch_take(s, e);
	case EVENT_PYTHON_CODE: /* intake.c keeps it to itself */
		break;
	case EVENT_EXEC:
		return take_exec(s, (const struct event_exec *)e);
	case EVENT_COPY:
		sample_keep_copy(&s->samples, (const struct event_copy *)e);
		break;
	}
	return 0;
}

int take_until(struct session *s, uint64_t until_ns)
{
	struct order_item item;
	void *bytes;
	int rc = 0;

	while (rc >= 0 && order_next(&s->order, until_ns, &item, &bytes)) {
		switch ((enum item_kind)item.kind) {
		case ITEM_SIDE:
			rc = take_side(s, bytes);
			break;
		case ITEM_EVENT:
			rc = take_event(s, bytes);
			break;
		}
	}
	sample_forget_copies(&s->samples);
	if (rc >= 0)
		rc = order_compact(&s->order);
	return rc < 0 ? rc : accel_drain(s->accel, until_ns);
}
