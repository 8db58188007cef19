/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues (streams) of one device that take turns, though each kernel would leave room for another.
 *
 * A kernel waited for another queue's when its launch was made and its own queue empty, and it
 * began just as that ended. Programs that order their queues themselves do that on purpose, so
 * nothing is said of those that make such calls.
 */
#include "analyze/hint_facts.h"

#include <errno.h>

/* Between the end of one kernel and the start of the next on the same device; or a tenth of how long
 * that takes, where a runtime on the host hands over. */
#define HANDOVER_NS 10000
/* Waiting less than this is what launching takes. */
#define WAIT_LEAST_NS 5000

struct last {
	uint64_t end_ns;
	uint64_t groups;
	uint32_t queue;
};

static uint64_t op_groups(const struct analysis *a, const struct op *op)
{
	const struct launch *l = analysis_op_launch(a, op);
	if (!l)
		return 0;
	const struct launch_detail *d = (const void *)strtab_get(&a->detail_blobs, l->detail).data;
	return (uint64_t)d->grid[0] * d->grid[1] * d->grid[2];
}

static bool orders_queues(const struct facts *x)
{
	for (size_t i = 1; i < x->a->objects.len; i++) {
		const char *name = analysis_text(x->a, x->a->objects.data[i].name);
		if (strstr(name, "StreamWaitEvent"))
			return true;
	}
	return false;
}

static void take_op(struct facts *x, const struct op *op, struct last *queue, struct last *others)
{
	const struct launch *l = analysis_op_launch(x->a, op);
	struct hint_part *p = &x->out->serial;
	uint64_t groups = op_groups(x->a, op);
	uint64_t handover = (op->end_ns - op->start_ns) / 10;

	handover = handover > HANDOVER_NS ? handover : HANDOVER_NS;
	if (l && analysis_launch_is_seen(x->a, l) && !(l->flags & LAUNCH_REPLAY) && groups &&
	    groups < x->out->units && others->groups && others->groups < x->out->units &&
	    others->queue != op->queue && op->start_ns >= others->end_ns &&
	    op->start_ns - others->end_ns < handover) {
		uint64_t ready = l->time_ns + l->duration_ns;
		ready = queue->end_ns > ready ? queue->end_ns : ready;
		if (others->end_ns > ready + WAIT_LEAST_NS) {
			p->ns += others->end_ns - ready;
			p->count++;
		}
	}
	if (op->end_ns > queue->end_ns)
		*queue = (struct last){ op->end_ns, groups, op->queue };
}

/* The work of another queue than @queue that ended last. */
static struct last last_of_others(const struct last *last, const uint32_t *used, size_t count,
				  uint32_t queue)
{
	struct last found = { 0 };
	for (size_t i = 0; i < count; i++) {
		if (used[i] != queue && last[used[i]].end_ns > found.end_ns)
			found = last[used[i]];
	}
	return found;
}

/* More queues than this on one device are not looked at. */
#define QUEUES_MAX 64

int facts_queues(struct facts *x)
{
	const struct analysis *a = x->a;
	struct hint_part *p = &x->out->serial;
	uint32_t used[QUEUES_MAX];

	*p = (struct hint_part){ .text = "", .where = "" };
	if (!x->out->units || orders_queues(x))
		return 0;
	CLEANUP_FREE struct last *last = calloc(a->queues.len + 1, sizeof(*last));
	if (!last)
		return -ENOMEM;
	for (uint32_t d = 0; d < a->devices.len; d++) {
		size_t count = 0;
		for (uint32_t q = 1; q < a->queues.len && count < QUEUES_MAX; q++) {
			if (a->queues.data[q].device == d)
				used[count++] = q;
		}
		if (count < 2 || count == QUEUES_MAX || !x->f->device_passes[d])
			continue;
		vec_for_each(&a->ops, op) {
			if (op->device != d || op->kind != LAUNCH_KERNEL || !op->queue ||
			    !filter_time(x->f, op->start_ns))
				continue;
			struct last others = last_of_others(last, used, count, op->queue);
			take_op(x, op, &last[op->queue], &others);
		}
	}
	return 0;
}
