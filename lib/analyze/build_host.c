/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics that have one sum for each (thread, stack): CPU samples and time, waits, memory. */
#include "analyze/build.h"

#include "analyze/memory_sums.h"
#include "analyze/sort.h"

#include <errno.h>
#include <string.h>

bool has_cpu_samples(const struct analysis *a)
{
	vec_for_each(&a->samples, s) {
		if (!(s->flags & CPU_SAMPLE_SPAN))
			return true;
	}
	return build_lost_any(a, "cpu-sample");
}

/* The part of [@begin_ns, @begin_ns + @length_ns) inside the time asked for. */
static uint64_t span_within(const struct filter *f, uint64_t begin_ns, uint64_t length_ns)
{
	uint64_t end_ns = begin_ns + length_ns;
	uint64_t from = begin_ns > f->begin_ns ? begin_ns : f->begin_ns;
	uint64_t to = end_ns < f->end_ns ? end_ns : f->end_ns;
	return from < to ? to - from : 0;
}

static uint64_t sample_count(const struct build *b, const struct sample *s)
{
	if (s->flags & CPU_SAMPLE_SPAN)
		return 0;
	return filter_time(b->f, s->time_ns) ? s->weight : 0;
}

bool has_cpu_time(const struct analysis *a)
{
	if (a->header.frequency)
		return a->samples.len;
	vec_for_each(&a->samples, s) {
		if (s->flags & CPU_SAMPLE_SPAN)
			return true;
	}
	return false;
}

static uint64_t sample_ns(const struct build *b, const struct sample *s)
{
	if (s->flags & CPU_SAMPLE_SPAN)
		return span_within(b->f, s->time_ns, s->weight);
	uint64_t hz = b->a->header.frequency, ns;
	if (!hz || __builtin_mul_overflow(sample_count(b, s), 1000000000ull, &ns))
		return 0;
	return ns / hz;
}

static int groups_order(struct build *b)
{
	const struct analysis *a = b->a;
	size_t n = a->sample_groups.len;
	if (b->group_order)
		return 0;
	CLEANUP_FREE uint64_t *keys = malloc((n + 1) * sizeof(*keys));
	CLEANUP_FREE uint32_t *order = malloc((n + 1) * sizeof(*order));
	if (!keys || !order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct sample_group *g = &a->sample_groups.data[i];
		keys[i] = hash_pair(a->threads.data[g->thread].process, g->stack);
		order[i] = (uint32_t)i;
	}
	if (sort_by_key(keys, order, n) < 0)
		return -ENOMEM;
	b->group_order = TAKE(order);
	return 0;
}

/* Put the sum of each (thread, stack) on its node. */
int build_sums(struct build *b, const uint64_t *sums)
{
	const struct analysis *a = b->a;
	if (groups_order(b) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < a->sample_groups.len; i++) {
		uint32_t group = b->group_order[i], node;
		if (!sums[group] || !filter_group(b->f, &a->sample_groups.data[group]))
			continue;
		if (paths_group(b->paths, group, &node) < 0)
			return -ENOMEM;
		build_add(b, node, sums[group]);
	}
	return 0;
}

/* Sums first: there are far fewer of them than samples. */
static int build_samples(struct build *b,
			 uint64_t (*value)(const struct build *, const struct sample *))
{
	CLEANUP_FREE uint64_t *sums = calloc(b->a->sample_groups.len + 1, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	vec_for_each(&b->a->samples, s)
		sums[s->group] += value(b, s);
	return build_sums(b, sums);
}

int build_cpu_samples(struct build *b)
{
	int rc = build_samples(b, sample_count);
	return rc < 0 ? rc : build_lost(b, "cpu-sample");
}

int build_cpu_time(struct build *b)
{
	return build_samples(b, sample_ns);
}

/* "event:NAME" for each event that was sampled on beside the header's. */
#define EVENT_METRIC "event:"

static int build_event(struct build *b, uint32_t event)
{
	CLEANUP_FREE uint64_t *sums = calloc(b->a->sample_groups.len + 1, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	vec_for_each(&b->a->event_samples, s) {
		if (s->event == event && filter_time(b->f, s->time_ns))
			sums[s->group] += s->weight;
	}
	return build_sums(b, sums);
}

bool has_event(const struct analysis *a, const char *metric)
{
	if (strncmp(metric, EVENT_METRIC, strlen(EVENT_METRIC)) != 0)
		return false;
	vec_for_each(&a->sample_events, text) {
		if (!strcmp(metric + strlen(EVENT_METRIC), analysis_text(a, *text)))
			return true;
	}
	return false;
}

static bool event_wanted(const struct analysis_profile_options *opt, const char *metric)
{
	for (size_t i = 0; i < opt->metric_count; i++) {
		if (!strcmp(opt->metrics[i], metric))
			return true;
	}
	return !opt->metric_count;
}

int build_events(struct build *b)
{
	for (uint32_t i = 0; i < b->a->sample_events.len; i++) {
		char name[256];
		snprintf(name, sizeof(name), EVENT_METRIC "%s",
			 analysis_text(b->a, b->a->sample_events.data[i]));
		if (!event_wanted(b->opt, name) ||
		    profile_metric_count(b->p) >= PROFILE_METRICS_MAX)
			continue;
		b->metric = profile_metric(b->p, name, "samples");
		if (b->metric < 0 || build_event(b, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

bool has_blocked(const struct analysis *a)
{
	return a->blocked.len;
}

int build_blocked(struct build *b)
{
	CLEANUP_FREE uint64_t *sums = calloc(b->a->sample_groups.len + 1, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	vec_for_each(&b->a->blocked, x) {
		sums[x->group] += span_within(b->f, x->time_ns, x->duration_ns);
		/* Where exactly the others were is not known; just before it. */
		if (filter_time(b->f, x->time_ns))
			sums[x->group] += x->others_ns;
	}
	return build_sums(b, sums);
}

static int build_memory(struct build *b, enum memory_measure measure)
{
	CLEANUP_FREE uint64_t *sums = calloc(b->a->sample_groups.len + 1, sizeof(*sums));
	struct memory_rest rest = { 0 };
	uint32_t node;
	if (!sums || memory_sums(b->a, b->f, measure, sums, &rest) < 0)
		return -ENOMEM;
	if (rest.unknown && paths_missing(b->paths, "[unattributed]", &node) == 0)
		build_add(b, node, rest.unknown);
	if (rest.before && paths_missing(b->paths, "[allocated before recording]", &node) == 0)
		build_add(b, node, rest.before);
	return build_sums(b, sums);
}

int build_memory_peak(struct build *b)
{
	return build_memory(b, MEMORY_PEAK);
}

int build_memory_allocated(struct build *b)
{
	return build_memory(b, MEMORY_ALLOCATED);
}

int build_allocations(struct build *b)
{
	return build_memory(b, MEMORY_ALLOCATIONS);
}
