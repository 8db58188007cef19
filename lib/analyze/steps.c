/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps: iterations of a loop, as marks tell them. A mark is one when it carries an iteration
 * number or is called as torch.profiler calls its own ("ProfilerStep#6").
 */
#include "analyze/sort.h"
#include "analyze/tables.h"

#include <errno.h>

#define STEP_PREFIX "ProfilerStep#"

static bool mark_is_step(const struct analysis *a, const struct mark *m)
{
	return m->iteration ||
	       !strncmp(analysis_text(a, m->text), STEP_PREFIX, strlen(STEP_PREFIX));
}

static int step_add(struct analysis *a, const struct mark *m, uint64_t end_ns)
{
	if (end_ns <= m->time_ns)
		return 0;
	return vec_push(&a->steps, (struct step){
					   .begin_ns = m->time_ns,
					   .end_ns = end_ns,
					   .iteration = m->iteration,
					   .process = a->threads.data[m->thread].process,
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
			if (mark_is_step(a, push))
				rc = step_add(a, push, m->time_ns);
		} else if (m->kind == MARK_SPAN && mark_is_step(a, m)) {
			rc = step_add(a, m, m->time_ns + m->duration_ns);
		}
	}
	vec_release(&open);
	return rc;
}

static int steps_sort(struct analysis *a)
{
	size_t n = a->steps.len;
	CLEANUP_FREE uint64_t *keys = calloc(n + 1, sizeof(*keys));
	CLEANUP_FREE uint32_t *order = malloc((n + 1) * sizeof(*order));
	CLEANUP_FREE struct step *sorted = malloc((n + 1) * sizeof(*sorted));
	if (!keys || !order || !sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		keys[i] = a->steps.data[i].begin_ns;
		order[i] = (uint32_t)i;
	}
	if (sort_by_key(keys, order, n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sorted[i] = a->steps.data[order[i]];
	if (n)
		memcpy(a->steps.data, sorted, n * sizeof(*sorted));
	return 0;
}

int analysis_find_steps(struct analysis *a)
{
	size_t n = a->marks.len;
	CLEANUP_FREE uint64_t *keys = calloc(n + 1, sizeof(*keys));
	CLEANUP_FREE uint32_t *order = malloc((n + 1) * sizeof(*order));
	if (!keys || !order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		keys[i] = a->marks.data[i].time_ns;
		order[i] = (uint32_t)i;
	}
	if (sort_by_key(keys, order, n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		keys[i] = a->marks.data[i].thread;
	if (sort_by_key(keys, order, n) < 0 || steps_pair(a, order) < 0)
		return -ENOMEM;
	return steps_sort(a);
}
