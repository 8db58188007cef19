/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/account.h"
#include "analyze/steps.h"

#include <errno.h>

/* The steps of these processes but those of a warm-up; those of nobody known belong to all. False:
 * there are none. */
static bool window_steps(const struct analysis *a, const bool *is_launching, struct window *ret)
{
	bool any = false;

	vec_for_each(&a->steps, s) {
		if (s->is_warmup || (s->process && !is_launching[s->process]))
			continue;
		if (!any || s->begin_ns < ret->begin_ns)
			ret->begin_ns = s->begin_ns;
		if (!any || s->end_ns > ret->end_ns)
			ret->end_ns = s->end_ns;
		any = true;
	}
	ret->source = WINDOW_STEPS;
	return any;
}

int window_find(const struct analysis *a, const uint32_t *ops, size_t count, struct window *ret)
{
	if (!count)
		return -ENOENT;
	CLEANUP_FREE bool *is_launching = calloc(a->processes.len, sizeof(*is_launching));
	if (!is_launching)
		return -ENOMEM;

	struct window activity = { .begin_ns = a->ops.data[ops[0]].start_ns };
	for (size_t i = 0; i < count; i++) {
		const struct op *op = &a->ops.data[ops[i]];
		if (op->end_ns > activity.end_ns)
			activity.end_ns = op->end_ns;
		is_launching[analysis_op_process(a, op)] = true;
	}

	struct window steps = { 0 };
	bool found = a->steps.len && window_steps(a, is_launching, &steps);
	if (found && steps.begin_ns < activity.end_ns && activity.begin_ns < steps.end_ns)
		*ret = steps;
	else
		*ret = activity;
	return 0;
}

void window_narrow(struct analysis *a, const uint32_t *ops, size_t count, struct window *window)
{
	struct window own = { .begin_ns = UINT64_MAX, .source = window->source };
	const struct step *steps;
	size_t step_count;

	if (window->source != WINDOW_STEPS || !steps_have_runs(a) || !count ||
	    steps_of(a, &steps, &step_count) < 0)
		return;
	uint32_t process = analysis_op_process(a, &a->ops.data[ops[0]]);
	for (size_t i = 0; i < step_count; i++) {
		const struct step *s = &steps[i];
		if (s->is_warmup || s->process != process || s->begin_ns < window->begin_ns ||
		    s->end_ns > window->end_ns)
			continue;
		own.begin_ns = s->begin_ns < own.begin_ns ? s->begin_ns : own.begin_ns;
		own.end_ns = s->end_ns > own.end_ns ? s->end_ns : own.end_ns;
	}
	if (own.begin_ns < own.end_ns)
		*window = own;
}
