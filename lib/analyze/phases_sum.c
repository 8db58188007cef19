/* SPDX-License-Identifier: Apache-2.0 */
/* What happens in each phase. */
#include "analyze/phases_internal.h"
#include "analyze/steps.h"

#include "base/bisect.h"

#include <errno.h>

/* The stretch that a moment lies in; NULL: none. */
static const struct stretch *stretch_at(const struct finding *x, uint64_t time_ns)
{
	size_t at = bisect(x->all.len, i, x->all.data[i].end_ns <= time_ns);
	bool is_in = at < x->all.len && x->all.data[at].begin_ns <= time_ns;
	return is_in ? &x->all.data[at] : NULL;
}

/* Add the part of [@begin_ns, @end_ns) that lies in each phase. */
static void add_busy(const struct finding *x, struct phase_summary *sums, uint64_t begin_ns,
		     uint64_t end_ns)
{
	begin_ns = begin_ns > x->begin_ns ? begin_ns : x->begin_ns;
	while (begin_ns < end_ns) {
		const struct stretch *s = stretch_at(x, begin_ns);
		if (!s)
			break;
		uint64_t to = s->end_ns < end_ns ? s->end_ns : end_ns;
		sums[s->phase].busy_ns += to - begin_ns;
		begin_ns = to;
	}
}

static int sum_busy(const struct finding *x, struct phase_summary *sums, uint32_t *ret_devices)
{
	const struct analysis *a = x->a;
	CLEANUP_FREE uint64_t *until = calloc(a->devices.len, sizeof(*until));
	if (!until)
		return -ENOMEM;
	*ret_devices = 0;
	vec_for_each(&a->ops, op) {
		uint64_t from = op->start_ns;
		if (!filter_on(x->f, op->device, op->queue) ||
		    !phases_is_of(x, analysis_op_process(a, op)))
			continue;
		*ret_devices += !until[op->device];
		from = from > until[op->device] ? from : until[op->device];
		if (op->end_ns > from)
			add_busy(x, sums, from, op->end_ns);
		if (op->end_ns >= until[op->device])
			until[op->device] = op->end_ns ? op->end_ns : 1;
	}
	return 0;
}

static int compare_summaries(const void *va, const void *vb)
{
	const struct phase_summary *a = va, *b = vb;
	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

int phases_sum(struct finding *x, struct phases_summary *ret)
{
	struct analysis *a = x->a;
	struct phase_summary sums[PHASE_COUNT] = { { .ns = 0 } };
	const struct step *steps;
	size_t count;

	vec_for_each(&x->all, s) {
		if (!sums[s->phase].ns)
			sums[s->phase].begin_ns = s->begin_ns;
		sums[s->phase].ns += s->end_ns - s->begin_ns;
		ret->ns += s->end_ns - s->begin_ns;
	}
	vec_for_each(&a->launches, l) {
		const struct stretch *s = stretch_at(x, l->time_ns);
		if (s && analysis_launch_is_seen(a, l) &&
		    phases_is_of(x, a->threads.data[l->thread].process))
			sums[s->phase].launches++;
	}
	if (steps_of(a, &steps, &count) < 0 || sum_busy(x, sums, &ret->devices) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct stretch *s = stretch_at(x, steps[i].begin_ns);
		if (s && phases_is_of(x, steps[i].process))
			sums[steps[i].is_warmup ? PHASE_WARMUP : PHASE_STEADY].steps++;
	}
	for (int i = 0; i < PHASE_COUNT; i++) {
		sums[i].name = phase_name((enum phase)i);
		if (sums[i].ns)
			ret->list[ret->count++] = sums[i];
	}
	qsort(ret->list, ret->count, sizeof(*ret->list), compare_summaries);
	const struct process *p = &a->processes.data[x->process];
	ret->pid = p->pid;
	ret->rank = p->rank;
	for (size_t i = 1; i < a->threads.len; i++)
		ret->is_one_of_several |= x->f->thread_passes[i] && x->process &&
					  a->threads.data[i].process != x->process;
	return 0;
}
