/* SPDX-License-Identifier: Apache-2.0 */
/* What is compared of each side: values of its steps, and how long the same took at its fastest. */
#include "base/cleanup.h"
#include "cmd/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum part {
	PART_ITEMS,
	PART_STEP,
	PART_IDLE,
};

struct choice {
	enum part part;
	diff_meant_fn meant; /* of PART_ITEMS */
	const void *data;
};

static void values_release(struct diff_values *v)
{
	free(v->steps);
	free(v->means);
	free(v->fastest);
}

int diff_side_index(struct diff_side *s)
{
	const struct work *w = &s->work;
	CLEANUP_FREE size_t *next = calloc(w->item_count + 1, sizeof(*next));

	s->item_first = calloc(w->item_count + 1, sizeof(*s->item_first));
	s->item_ops = calloc(w->op_count + 1, sizeof(*s->item_ops));
	if (!next || !s->item_first || !s->item_ops)
		return -ENOMEM;
	for (size_t i = 0; i < w->op_count; i++) {
		if (w->op_items[i]) /* its number + 1, where the next one begins */
			s->item_first[w->op_items[i]]++;
	}
	for (size_t i = 0; i < w->item_count; i++) {
		s->item_first[i + 1] += s->item_first[i];
		next[i] = s->item_first[i];
	}
	for (size_t i = 0; i < w->op_count; i++) {
		if (w->op_items[i])
			s->item_ops[next[w->op_items[i] - 1]++] = (uint32_t)i;
	}
	return 0;
}

static uint64_t idle_of(const struct work_step *s)
{
	return s->ns > s->busy_ns ? s->ns - s->busy_ns : 0;
}

/* Which items count; NULL: no memory. */
static uint8_t *mark_items(const struct diff *d, int side, const struct choice *c)
{
	const struct work *w = &d->sides[side].work;
	uint8_t *meant = calloc(w->item_count + 1, 1);

	for (size_t i = 0; meant && i < w->item_count; i++)
		meant[i] = c->part != PART_ITEMS || c->meant(d, side, i, c->data);
	return meant;
}

/* The steps that count; of each run that has some its number from 1 on, by those of @w. */
static int take_runs(const struct work *w, struct diff_values *ret, uint32_t **ret_runs)
{
	uint32_t last = 0;
	for (size_t i = 0; i < w->step_count; i++)
		last = w->steps[i].run > last ? w->steps[i].run : last;
	uint32_t *runs = calloc((size_t)last + 1, sizeof(*runs));
	if (!runs)
		return -ENOMEM;
	for (size_t i = 0; i < w->step_count; i++) {
		uint32_t *run = &runs[w->steps[i].run];
		if (!w->steps[i].is_left_out && !*run)
			*run = (uint32_t)++ret->run_count;
	}
	*ret_runs = runs;
	return 0;
}

/* The step of a piece of work, if that counts. */
static bool find_step(const struct work *w, uint32_t op, size_t *ret)
{
	uint32_t step = w->op_steps[op];
	*ret = step - 1;
	return step && step <= w->step_count && !w->steps[step - 1].is_left_out;
}

static void add_to_steps(const struct diff_side *s, const uint8_t *meant, uint64_t *ret)
{
	const struct work *w = &s->work;
	size_t step;
	for (size_t item = 0; item < w->item_count; item++) {
		if (!meant[item])
			continue;
		for (size_t k = s->item_first[item]; k < s->item_first[item + 1]; k++) {
			if (find_step(w, s->item_ops[k], &step))
				ret[step] += w->op_ns[s->item_ops[k]];
		}
	}
}

static int take_steps(const struct diff_side *side, const struct choice *c, const uint8_t *meant,
		      const uint32_t *runs, struct diff_values *ret)
{
	const struct work *w = &side->work;
	CLEANUP_FREE uint64_t *all = calloc(w->step_count + 1, sizeof(*all));
	CLEANUP_FREE size_t *counts = calloc(ret->run_count + 1, sizeof(*counts));
	ret->steps = calloc(w->step_count + 1, sizeof(*ret->steps));
	ret->means = calloc(ret->run_count + 1, sizeof(*ret->means));
	if (!all || !counts || !ret->steps || !ret->means)
		return -ENOMEM;
	if (c->part == PART_ITEMS)
		add_to_steps(side, meant, all);
	for (size_t i = 0; i < w->step_count; i++) {
		const struct work_step *s = &w->steps[i];
		if (s->is_left_out)
			continue;
		uint64_t value = c->part == PART_ITEMS  ? all[i]
				 : c->part == PART_STEP ? s->ns
							: idle_of(s);
		ret->steps[ret->step_count++] = value;
		ret->means[runs[s->run] - 1] += (double)value;
		counts[runs[s->run] - 1]++;
	}
	for (size_t run = 0; run < ret->run_count; run++)
		ret->means[run] /= (double)counts[run];
	return 0;
}

/*
 * Each item's shortest piece of work in each run, for as many as a step has: what other programs, or a
 * clock that was low for a while, add to some of them is not in it.
 */
static int add_items(const struct diff_side *s, const uint8_t *meant, const uint32_t *runs,
		     const size_t *steps, struct diff_values *ret)
{
	const struct work *w = &s->work;
	CLEANUP_FREE uint64_t *least = calloc(ret->run_count + 1, sizeof(*least));
	CLEANUP_FREE uint64_t *counts = calloc(ret->run_count + 1, sizeof(*counts));
	size_t step;
	if (!least || !counts)
		return -ENOMEM;
	for (size_t item = 0; item < w->item_count; item++) {
		if (!meant[item])
			continue;
		memset(counts, 0, ret->run_count * sizeof(*counts));
		for (size_t k = s->item_first[item]; k < s->item_first[item + 1]; k++) {
			uint32_t op = s->item_ops[k];
			if (!find_step(w, op, &step))
				continue;
			uint32_t run = runs[w->steps[step].run] - 1;
			if (!counts[run]++ || w->op_ns[op] < least[run])
				least[run] = w->op_ns[op];
		}
		for (size_t run = 0; run < ret->run_count; run++)
			ret->fastest[run] += counts[run]
						     ? (double)least[run] * (double)counts[run] /
							       (double)steps[run]
						     : 0;
	}
	return 0;
}

/* The least idle time of a step in each run. */
static void add_idle(const struct work *w, const uint32_t *runs, uint64_t *least, size_t *steps,
		     struct diff_values *ret)
{
	for (size_t i = 0; i < w->step_count; i++) {
		const struct work_step *s = &w->steps[i];
		if (s->is_left_out)
			continue;
		size_t run = runs[s->run] - 1;
		if (!steps[run]++ || idle_of(s) < least[run])
			least[run] = idle_of(s);
	}
	for (size_t run = 0; run < ret->run_count; run++)
		ret->fastest[run] += (double)least[run];
}

static int values_make(const struct diff *d, int side, const struct choice *c,
		       struct diff_values *ret)
{
	const struct work *w = &d->sides[side].work;
	CLEANUP_FREE uint8_t *meant = mark_items(d, side, c);
	CLEANUP_FREE uint32_t *runs = NULL;

	if (!meant || take_runs(w, ret, &runs) < 0 ||
	    take_steps(&d->sides[side], c, meant, runs, ret) < 0)
		return -ENOMEM;
	CLEANUP_FREE uint64_t *idle = calloc(ret->run_count + 1, sizeof(*idle));
	CLEANUP_FREE size_t *steps = calloc(ret->run_count + 1, sizeof(*steps));
	ret->fastest = calloc(ret->run_count + 1, sizeof(*ret->fastest));
	if (!idle || !steps || !ret->fastest)
		return -ENOMEM;
	add_idle(w, runs, idle, steps, ret);
	if (c->part == PART_ITEMS)
		memset(ret->fastest, 0, ret->run_count * sizeof(*ret->fastest));
	return c->part == PART_IDLE ? 0 : add_items(&d->sides[side], meant, runs, steps, ret);
}

static int change_of(const struct diff *d, const struct choice *c, struct diff_change *ret)
{
	struct diff_values values[MATCH_SIDES] = { 0 };
	int rc = values_make(d, MATCH_BASE, c, &values[MATCH_BASE]);

	rc = rc ? rc : values_make(d, MATCH_NEW, c, &values[MATCH_NEW]);
	if (!rc)
		*ret = diff_change(values);
	values_release(&values[MATCH_BASE]);
	values_release(&values[MATCH_NEW]);
	return rc;
}

static bool is_in_row(const struct diff *d, int side, size_t item, const void *data)
{
	return d->match.item_rows[side][item] == *(const uint32_t *)data;
}

int diff_row_change(const struct diff *d, uint32_t row, struct diff_change *ret)
{
	return diff_items_change(d, is_in_row, &row, ret);
}

int diff_items_change(const struct diff *d, diff_meant_fn meant, const void *data,
		      struct diff_change *ret)
{
	return change_of(d, &(struct choice){ PART_ITEMS, meant, data }, ret);
}

int diff_step_change(const struct diff *d, struct diff_change *ret)
{
	return change_of(d, &(struct choice){ .part = PART_STEP }, ret);
}

int diff_idle_change(const struct diff *d, struct diff_change *ret)
{
	return change_of(d, &(struct choice){ .part = PART_IDLE }, ret);
}
