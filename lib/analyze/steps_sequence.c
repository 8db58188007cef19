/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps without marks: the kernel that comes once in each turn of the loop. Of all kernels that
 * come at least three times and with (nearly) the same work between each two, the rarest: the
 * outermost loop, rather than that over a model's layers.
 */
#include "analyze/steps.h"

#include <errno.h>

/* So many turns make a loop. */
#define TURNS_LEAST 3
/* Of the turns, so many percent are alike; the first ones of a program seldom are. */
#define TURNS_ALIKE 75
/* The loop covers so many percent of the device's work. */
#define COVERED_LEAST 50

/* The work of the device that has most of it. */
struct sequence {
	const uint32_t *ops;
	size_t count;
	uint64_t *hashes; /* of the names before each; one more at the end */
	uint64_t *powers;
};

#define HASH_FACTOR 0x9E3779B97F4A7C15u

/* Of the names in [@from, @to). */
static uint64_t hash_of(const struct sequence *s, size_t from, size_t to)
{
	return s->hashes[to] - s->hashes[from] * s->powers[to - from];
}

/* How many of the turns between the @n places are like the one that most are like. */
static size_t count_alike(const struct sequence *s, const uint32_t *places, size_t n)
{
	/* Majority vote, then a count: the usual turn is that of more than half. */
	size_t usual = 0, votes = 0, alike = 0;
	for (size_t pass = 0; pass < 2; pass++) {
		uint64_t length = places[usual + 1] - places[usual];
		for (size_t i = 0; i + 1 < n; i++) {
			bool is_same = places[i + 1] - places[i] == length &&
				       hash_of(s, places[i], places[i + 1]) ==
					       hash_of(s, places[usual], places[usual + 1]);
			if (pass) {
				alike += is_same;
			} else if (!votes) {
				usual = i;
				length = places[i + 1] - places[i];
				votes = 1;
			} else if (is_same) {
				votes++;
			} else {
				votes--;
			}
		}
	}
	return alike;
}

static int repeats_fill(struct analysis *a, const struct sequence *s, const uint32_t *places,
			size_t n)
{
	for (size_t i = 0; i + 1 < n; i++) {
		const struct op *op = &a->ops.data[s->ops[places[i]]];
		const struct op *next = &a->ops.data[s->ops[places[i + 1]]];
		struct step step = {
			.begin_ns = op->start_ns,
			.end_ns = next->start_ns,
			.process = analysis_op_process(a, op),
		};
		if (step.end_ns > step.begin_ns && vec_push(&a->repeats, step) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* @first: by name, where its places begin in @places. */
static int repeats_choose(struct analysis *a, const struct sequence *s, const uint32_t *places,
			  const uint32_t *first, uint32_t names)
{
	uint32_t best = 0;
	size_t best_count = SIZE_MAX;

	for (uint32_t name = 1; name < names; name++) {
		size_t n = first[name + 1] - first[name];
		const uint32_t *at = places + first[name];
		if (n < TURNS_LEAST + 1 || n >= best_count)
			continue;
		if ((at[n - 1] - at[0]) * 100.0 < (double)s->count * COVERED_LEAST ||
		    (double)count_alike(s, at, n) * 100 < (double)(n - 1) * TURNS_ALIKE)
			continue;
		best = name;
		best_count = n;
	}
	return best ? repeats_fill(a, s, places + first[best], best_count) : 0;
}

static int repeats_of(struct analysis *a, struct sequence *s)
{
	uint32_t names = strtab_count(&a->names);
	CLEANUP_FREE uint32_t *first = calloc(names + 2, sizeof(*first));
	CLEANUP_FREE uint32_t *places = calloc(s->count + 1, sizeof(*places));
	CLEANUP_FREE uint64_t *hashes = calloc(s->count + 1, sizeof(*hashes));
	CLEANUP_FREE uint64_t *powers = calloc(s->count + 1, sizeof(*powers));
	if (!first || !places || !hashes || !powers)
		return -ENOMEM;
	powers[0] = 1;
	for (size_t i = 0; i < s->count; i++) {
		uint32_t name = a->ops.data[s->ops[i]].name;
		powers[i + 1] = powers[i] * HASH_FACTOR;
		hashes[i + 1] = hashes[i] * HASH_FACTOR + name + 1;
		first[name + 1]++;
	}
	for (uint32_t name = 0; name < names; name++)
		first[name + 1] += first[name];
	/* Filling moves each start to its end, which is the next one's start. */
	for (size_t i = 0; i < s->count; i++)
		places[first[a->ops.data[s->ops[i]].name]++] = (uint32_t)i;
	for (uint32_t name = names; name > 0; name--)
		first[name] = first[name - 1];
	first[0] = 0;
	s->hashes = hashes;
	s->powers = powers;
	return repeats_choose(a, s, places, first, names);
}

/* What @device did, as it is the one of its run that did most. */
static int repeats_on(struct analysis *a, uint32_t device, size_t count)
{
	struct sequence s = { 0 };
	CLEANUP_FREE uint32_t *ops = malloc((count + 1) * sizeof(*ops));
	if (!ops)
		return -ENOMEM;
	for (size_t i = 0; i < a->ops.len; i++) {
		if (a->ops.data[i].device == device && s.count < count)
			ops[s.count++] = (uint32_t)i;
	}
	s.ops = ops;
	return s.count > TURNS_LEAST ? repeats_of(a, &s) : 0;
}

static int repeats_find(struct analysis *a)
{
	CLEANUP_FREE size_t *counts = calloc(a->devices.len + 1, sizeof(*counts));
	CLEANUP_FREE uint32_t *runs = calloc(a->devices.len + 1, sizeof(*runs));
	int rc = 0;
	if (!counts || !runs)
		return -ENOMEM;
	vec_for_each(&a->ops, op) {
		if (!counts[op->device]++)
			runs[op->device] = steps_run(a, analysis_op_process(a, op));
	}
	for (uint32_t d = 0; d < a->devices.len && rc == 0; d++) {
		bool is_busiest = counts[d];
		for (uint32_t other = 0; other < a->devices.len; other++)
			is_busiest &= other == d || runs[other] != runs[d] ||
				      counts[other] < counts[d] ||
				      (counts[other] == counts[d] && other > d);
		if (is_busiest)
			rc = repeats_on(a, d, counts[d]);
	}
	return rc ? rc : steps_sort(a->repeats.data, a->repeats.len);
}

int steps_of(struct analysis *a, const struct step **ret, size_t *ret_count)
{
	if (!a->steps.len && !a->has_repeats && a->has_timeline) {
		int rc = repeats_find(a);
		rc = rc ? rc : steps_warm_up(a->repeats.data, a->repeats.len);
		if (rc < 0)
			return rc;
		a->has_repeats = true;
	}
	*ret = a->steps.len ? a->steps.data : a->repeats.data;
	*ret_count = a->steps.len ? a->steps.len : a->repeats.len;
	return 0;
}
