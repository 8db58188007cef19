/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps: iterations of a loop, as marks tell them. A mark is one when it carries an iteration
 * number or is called as torch.profiler calls its own ("ProfilerStep#6").
 */
#include "analyze/steps.h"
#include "analyze/phases.h"
#include "analyze/scopes.h"
#include "analyze/sort.h"

#include <errno.h>

#define STEP_PREFIX "ProfilerStep#"

static bool mark_is_step(const struct analysis *a, const struct mark *m)
{
	return m->iteration ||
	       !strncmp(analysis_text(a, m->text), STEP_PREFIX, strlen(STEP_PREFIX));
}

/* A span of marks: a step, or a phase, or nothing of the kind. */
static int span_take(struct analysis *a, const struct mark *m, uint64_t end_ns)
{
	uint32_t process = a->threads.data[m->thread].process;
	enum phase phase;

	if (end_ns <= m->time_ns)
		return 0;
	if (phase_of_mark(analysis_text(a, m->text), &phase))
		return vec_push(&a->phase_marks, (struct phase_mark){ .begin_ns = m->time_ns,
								      .end_ns = end_ns,
								      .process = process,
								      .phase = phase });
	if (!mark_is_step(a, m))
		return 0;
	return vec_push(&a->steps, (struct step){
					   .begin_ns = m->time_ns,
					   .end_ns = end_ns,
					   .iteration = m->iteration,
					   .process = process,
					   .text = m->text,
				   });
}

/* A scope that was opened and closed: the marks of one thread nest. */
static int steps_pair(struct analysis *a, const uint32_t *order)
{
	VEC(uint32_t) open = { 0 };
	int rc = 0;

	for (size_t i = 0; i < a->marks.len && rc >= 0; i++) {
		const struct mark *m = &a->marks.data[order[i]];
		if (open.len && a->marks.data[open.data[0]].thread != m->thread)
			open.len = 0;
		if (m->kind == MARK_PUSH) {
			rc = vec_push(&open, order[i]);
		} else if (m->kind == MARK_POP && open.len) {
			const struct mark *push = &a->marks.data[open.data[--open.len]];
			rc = span_take(a, push, m->time_ns);
		} else if (m->kind == MARK_SPAN) {
			rc = span_take(a, m, m->time_ns + m->duration_ns);
		}
	}
	vec_release(&open);
	return rc;
}

bool steps_have_runs(const struct analysis *a)
{
	vec_for_each(&a->processes, p) {
		if (p->run)
			return true;
	}
	return false;
}

int steps_sort(struct step *steps, size_t n)
{
	CLEANUP_FREE uint64_t *keys = calloc(n + 1, sizeof(*keys));
	CLEANUP_FREE uint32_t *order = malloc((n + 1) * sizeof(*order));
	CLEANUP_FREE struct step *sorted = malloc((n + 1) * sizeof(*sorted));
	if (!keys || !order || !sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		keys[i] = steps[i].begin_ns;
		order[i] = (uint32_t)i;
	}
	if (sort_by_key(keys, order, n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sorted[i] = steps[order[i]];
	if (n)
		memcpy(steps, sorted, n * sizeof(*sorted));
	return 0;
}

/* ---- warm-up ---- */

/* A step of a warm-up takes so many percent of what those after it take in the median; */
#define WARMUP_LONGER 150
/* there are so many of these; */
#define WARMUP_STEADY_LEAST 3
/* and together they take so many percent of all steps' time, else they do not matter. */
#define WARMUP_MATTERS 10
/* A loop whose steps get shorter for longer than this is not warming up. */
#define WARMUP_STEPS_MAX 64

static int compare_lengths(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* Of steps of one process, in order. @scratch: room for as many. */
static void warm_up_process(struct step *const *steps, size_t count, uint64_t *scratch)
{
	uint64_t all = 0, before = 0;
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		all += steps[i]->end_ns - steps[i]->begin_ns;
	for (; n + WARMUP_STEADY_LEAST < count && n < WARMUP_STEPS_MAX; n++) {
		uint64_t length = steps[n]->end_ns - steps[n]->begin_ns;
		for (size_t i = n + 1; i < count; i++)
			scratch[i] = steps[i]->end_ns - steps[i]->begin_ns;
		qsort(scratch + n + 1, count - n - 1, sizeof(*scratch), compare_lengths);
		uint64_t median = scratch[n + 1 + (count - n - 1) / 2];
		if ((double)length * 100 <= (double)median * WARMUP_LONGER)
			break;
		before += length;
	}
	if ((double)before * 100 < (double)all * WARMUP_MATTERS)
		return;
	for (size_t i = 0; i < n; i++)
		steps[i]->is_warmup = true;
}

int steps_warm_up(struct step *steps, size_t count)
{
	CLEANUP_FREE uint64_t *keys = calloc(count + 1, sizeof(*keys));
	CLEANUP_FREE uint32_t *order = malloc((count + 1) * sizeof(*order));
	CLEANUP_FREE struct step **sorted = calloc(count + 1, sizeof(*sorted));
	if (!keys || !order || !sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		keys[i] = steps[i].process;
		order[i] = (uint32_t)i;
	}
	if (sort_by_key(keys, order, count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sorted[i] = &steps[order[i]];
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && sorted[end]->process == sorted[i]->process;)
			end++;
		warm_up_process(sorted + i, end - i, keys);
	}
	return 0;
}

int analysis_find_steps(struct analysis *a)
{
	size_t n = a->marks.len;
	CLEANUP_FREE uint32_t *order = malloc((n + 1) * sizeof(*order));
	if (!order || analysis_marks_order(a, order) < 0 || steps_pair(a, order) < 0)
		return -ENOMEM;
	int rc = steps_sort(a->steps.data, a->steps.len);
	return rc ? rc : steps_warm_up(a->steps.data, a->steps.len);
}
