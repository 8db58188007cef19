/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/session_internal.h"

#include "collect/describe.h"
#include "proc/read.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

int intake_add_target(struct session *s, uint32_t pid)
{
	uint64_t *ended = hash_get(&s->known, pid);

	if (!ended || *ended != UINT64_MAX)
		s->alive++;
	return hash_set(&s->known, pid, UINT64_MAX);
}

void intake_target_ended(struct session *s, uint32_t pid, uint64_t time_ns)
{
	uint64_t *ended = hash_get(&s->known, pid);

	if (ended && *ended == UINT64_MAX) {
		*ended = time_ns;
		s->alive--;
	}
}

static int follow_python(struct session *s, const struct event_header *event)
{
	const struct event_fork *fork = (const struct event_fork *)event;

	switch ((enum event_type)event->type) {
	case EVENT_FORK:
		return python_fork(s->python, event->pid, fork->child_pid);
	case EVENT_EXEC:
		return python_exec(s->python, event->pid, event->time_ns);
	case EVENT_EXIT:
		if (((const struct event_exit *)event)->is_last)
			python_gone(s->python, event->pid);
		return 0;
	case EVENT_SAMPLE:
	case EVENT_PROBE:
	case EVENT_BLOCK:
	case EVENT_RESUME:
	case EVENT_COPY:
	case EVENT_PYTHON_CODE:
		break;
	}
	return 0;
}

/* What the kernel walks stacks by follows at once: it is looked at as it is now, not as it was. */
static int follow(struct session *s, const struct event_header *event)
{
	const struct event_fork *fork = (const struct event_fork *)event;

	int rc = s->python ? follow_python(s, event) : 0;
	if (rc < 0)
		return rc;
	if (!s->unwinder)
		return 0;
	switch ((enum event_type)event->type) {
	case EVENT_FORK:
		return fork->child_pid == event->pid
			       ? 0
			       : unwinder_fork(s->unwinder, event->pid, fork->child_pid);
	case EVENT_EXEC:
		unwinder_drop(s->unwinder, event->pid, event->time_ns);
		/* Of a whole machine, of those only that are seen running. */
		return s->is_open ? 0 : unwinder_mark(s->unwinder, event->pid, event->time_ns);
	case EVENT_EXIT:
		if (((const struct event_exit *)event)->is_last)
			unwinder_drop(s->unwinder, event->pid, event->time_ns);
		return 0;
	case EVENT_SAMPLE:
	case EVENT_PROBE:
	case EVENT_BLOCK:
		return unwinder_meet(s->unwinder, event->pid);
	case EVENT_COPY:
		return unwinder_want(s->unwinder, (const struct event_copy *)event);
	case EVENT_RESUME:
	case EVENT_PYTHON_CODE:
		break;
	}
	return 0;
}

/* From our programs, which tell of targets only. */
static int on_event(void *data, const struct event_header *event)
{
	struct session *s = data;

	int rc = follow(s, event);
	if (rc >= 0 && s->is_open && !hash_get(&s->known, event->pid))
		rc = intake_add_target(s, event->pid);
	if (rc < 0)
		return rc;
	switch ((enum event_type)event->type) {
	case EVENT_FORK:
		rc = intake_add_target(s, ((const struct event_fork *)event)->child_pid);
		break;
	case EVENT_EXIT:
		if (((const struct event_exit *)event)->is_last)
			intake_target_ended(s, event->pid, event->time_ns);
		break;
	case EVENT_PROBE:
		rc = launch_seen(s);
		if (rc < 0)
			return rc;
		/* fall through */
	case EVENT_SAMPLE:
	case EVENT_BLOCK:
		rc = s->python ? python_intake(s->python, &event) : 0;
		break;
	case EVENT_PYTHON_CODE: /* not in order of time: it goes before all that name it */
		return python_take_code(s->python, (const struct event_python_code *)event);
	case EVENT_EXEC:
	case EVENT_COPY:
	case EVENT_RESUME:
		break;
	}
	return rc < 0 ? rc : order_add(&s->order, event->time_ns, ITEM_EVENT, event, event->size);
}

int intake_open_ring(struct session *s, struct err *err)
{
	return ring_open(&s->ring, &s->programs, on_event, s, err);
}

/* From the kernel's side-band, which tells of all processes: whose it is is known when the ring of
 * our programs has been looked at too, as a fork is told there before the child does anything. */
static int on_side(void *data, const struct side_event *event)
{
	struct session_staged *staged = data;
	size_t size = sizeof(struct item_side) + event->text.size;
	size_t padded = (size + 7) & ~(size_t)7;
	struct item_side item = { .event = *event, .text_size = event->text.size };

	if (vec_reserve(&staged->bytes, staged->bytes.len + padded) < 0 ||
	    vec_push(&staged->items, staged->bytes.len) < 0)
		return -ENOMEM;
	uint8_t *at = staged->bytes.data + staged->bytes.len;
	memcpy(at, &item, sizeof(item));
	if (event->text.size)
		memcpy(at + sizeof(item), event->text.data, event->text.size);
	staged->bytes.len += padded;
	return 0;
}

static int open_mapping(struct session *s, struct item_side *item)
{
	const struct side_event *e = &item->event;
	struct object_place place = {
		.pid = e->pid,
		.start = e->start,
		.end = e->start + e->size,
		.major = e->major,
		.minor = e->minor,
		.inode = e->inode,
		.path = span_of(item->text, item->text_size),
	};

	return objects_place(&s->objects, &place, &item->object);
}

/* The kernel tells of everyone when our programs choose, else of those only that were asked for. */
static bool is_of_target(struct session *s, const struct side_event *e)
{
	const uint64_t *ended;

	/* Outside of our namespace: perf_event_pid() of the kernel's kernel/events/core.c. */
	if (!e->pid || e->pid == UINT32_MAX)
		return false;
	if (s->is_perf || s->opt.all)
		return !s->opt.cgroup || s->is_perf || hash_get(&s->known, e->pid);
	ended = hash_get(&s->known, e->pid);
	return ended && *ended >= e->time_ns;
}

/* What our programs would tell of a new image, as far as it can still be read. */
static int add_exec(struct session *s, const struct side_event *e)
{
	uint64_t buffer[(sizeof(struct event_exec) + EVENT_ARGUMENTS_MAX) / 8];
	struct event_exec *exec = (struct event_exec *)buffer;
	struct process_facts facts;

	memset(exec, 0, sizeof(*exec));
	exec->header = (struct event_header){
		.type = EVENT_EXEC, .time_ns = e->time_ns + 1, .pid = e->pid, .tid = e->pid
	};
	if (process_facts_read(e->pid, &facts) == 0) {
		exec->uid = facts.uid;
		process_facts_release(&facts);
	}
	int64_t size = proc_read_some(e->pid, "cmdline", exec->arguments, EVENT_ARGUMENTS_MAX);
	exec->arguments_size = size > 0 ? (uint32_t)size : 0;
	exec->header.size = (uint32_t)sizeof(*exec) + exec->arguments_size;
	return order_add(&s->order, exec->header.time_ns, ITEM_EVENT, exec, exec->header.size);
}

static int add_side(struct session *s, struct item_side *item)
{
	const struct side_event *e = &item->event;
	int rc;

	if (e->type == SIDE_LOST) {
		s->losses.now[LOSS_MAPPING_RING_FULL] += e->lost;
		return 0;
	}
	/* Births and deaths come with the others, and our programs tell of them. */
	bool is_task = e->type == SIDE_FORK || e->type == SIDE_EXIT;
	if (!is_of_target(s, e) || (is_task && !s->is_perf))
		return 0;
	if (e->type == SIDE_EXEC && s->is_perf && (rc = add_exec(s, e)) < 0)
		return rc;
	if (e->type == SIDE_EXEC && s->python)
		(void)python_image(s->python, e->pid, e->time_ns);
	if (e->type == SIDE_MMAP) {
		rc = open_mapping(s, item);
		if (rc >= 0 && s->unwinder && (!s->is_open || unwinder_knows(s->unwinder, e->pid)))
			rc = unwinder_mark(s->unwinder, e->pid, e->time_ns);
		if (rc >= 0 && s->python && item->object)
			rc = python_map(s->python, e->pid, item->object,
					object_bias(item->object, e->start, e->offset), e->time_ns);
		if (rc < 0)
			return rc;
	}
	return order_add(&s->order, e->time_ns, ITEM_SIDE, item,
			 (uint32_t)(sizeof(*item) + item->text_size));
}

int intake_drain(struct session *s)
{
	struct session_staged *staged = &s->staged;

	staged->bytes.len = staged->items.len = 0;
	int rc = sideband_drain(&s->sideband, on_side, staged);
	s->heard += staged->items.len;
	if (rc >= 0 && s->ring)
		rc = ring_drain(s->ring);
	if (rc >= 0)
		rc = sampler_drain(&s->sampler, on_event, s);
	/* Before anything else, as what is to be read can be gone the next moment. */
	if (rc >= 0 && s->python)
		rc = python_resolve(s->python);
	for (size_t i = 0; rc >= 0 && i < staged->items.len; i++)
		rc = add_side(s, (void *)(staged->bytes.data + staged->items.data[i]));
	if (rc >= 0 && s->unwinder)
		rc = unwinder_publish(s->unwinder, session_now());
	return rc < 0 ? rc : 0;
}
