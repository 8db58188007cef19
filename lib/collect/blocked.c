/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/blocked.h"

#include "collect/ring.h"

#include <errno.h>
#include <stdlib.h>

struct wait {
	uint64_t start_ns;
	uint32_t thread, stack; /* of the capture */
	uint32_t state;
};

static struct wait *slot_wait(const struct hash_slot *slot)
{
	return (struct wait *)(uintptr_t)slot->value;
}

void blocked_release(struct blocked *b)
{
	hash_for_each(&b->waits, slot)
		free(slot_wait(slot));
	hash_release(&b->waits);
}

/* Stacks of two epochs ago are forgotten: before that, they get a number in this one. */
static int renew(struct blocked *b)
{
	struct capture_writer *w = b->samples->writer;
	int rc = 0;

	if (b->epoch == capture_writer_epoch(w))
		return 0;
	hash_for_each(&b->waits, slot) {
		if (rc >= 0)
			rc = capture_writer_stack_renew(w, &slot_wait(slot)->stack);
	}
	b->epoch = capture_writer_epoch(w);
	return rc;
}

int blocked_begin(struct blocked *b, const struct event_block *event)
{
	const struct event_header *header = &event->header;
	const uint64_t *known = hash_get(&b->waits, header->tid);
	struct thread *thread;
	int rc;

	if ((rc = thread_get(b->samples->processes, header->pid, header->tid, header->time_ns,
			     &thread)) < 0 ||
	    (rc = renew(b)) < 0)
		return rc;
	struct wait *wait = known ? (struct wait *)(uintptr_t)*known : malloc(sizeof(*wait));
	if (!wait)
		return -ENOMEM;
	*wait = (struct wait){ .start_ns = header->time_ns, .state = event->state };
	if (!known && hash_set(&b->waits, header->tid, (uint64_t)(uintptr_t)wait) < 0) {
		free(wait);
		return -ENOMEM;
	}
	rc = thread_declare(b->samples->processes, thread, &wait->thread);
	return rc < 0 ? rc
		      : sample_stack(b->samples, thread->process, event_stack(header),
				     header->time_ns, &wait->stack);
}

static int put(struct blocked *b, const struct wait *wait, uint64_t end_ns, uint64_t others_ns)
{
	const struct record rec = {
		.type = RECORD_BLOCKED,
		.blocked = {
			.time_ns = wait->start_ns,
			.duration_ns = end_ns - wait->start_ns,
			.thread = wait->thread,
			.stack = wait->stack,
			.state = wait->state,
			.others_ns = others_ns,
		},
	};

	b->count++;
	b->ns += rec.blocked.duration_ns + others_ns;
	b->others_ns += others_ns;
	return capture_writer_put(b->samples->writer, &rec);
}

/* Where it waited is not known, as that did not fit into the ring; how long is. */
static int without_stack(struct blocked *b, const struct event_resume *event, struct wait *ret)
{
	const struct event_header *header = &event->header;
	struct thread *thread;

	*ret = (struct wait){ .start_ns = event->start_ns, .state = event->state };
	int rc = thread_get(b->samples->processes, header->pid, header->tid, header->time_ns,
			    &thread);
	if (rc < 0 || (rc = thread_declare(b->samples->processes, thread, &ret->thread)) < 0)
		return rc;
	return capture_writer_stack(b->samples->writer, NULL, 0,
				    STACK_CAUSE_NO_STACK << STACK_CAUSE_SHIFT, &ret->stack);
}

int blocked_end(struct blocked *b, const struct event_resume *event)
{
	const uint64_t *known = hash_get(&b->waits, event->header.tid);
	struct wait wait = { 0 };

	int rc = renew(b);
	if (rc < 0)
		return rc;
	if (known)
		wait = *(struct wait *)(uintptr_t)*known;
	blocked_forget(b, event->header.tid);
	if (wait.start_ns != event->start_ns && (rc = without_stack(b, event, &wait)) < 0)
		return rc;
	if (event->header.time_ns < wait.start_ns)
		return 0;
	return put(b, &wait, event->header.time_ns, event->others_ns);
}

void blocked_forget(struct blocked *b, uint32_t tid)
{
	const uint64_t *known = hash_get(&b->waits, tid);

	if (!known)
		return;
	free((struct wait *)(uintptr_t)*known);
	hash_remove(&b->waits, tid);
}

int blocked_finish(struct blocked *b, uint64_t time_ns)
{
	int rc = renew(b);

	hash_for_each(&b->waits, slot) {
		const struct wait *wait = slot_wait(slot);
		if (rc >= 0 && wait->start_ns < time_ns)
			rc = put(b, wait, time_ns, 0);
	}
	return rc;
}
