/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/host_time.h"

#include "analyze/sort.h"

#include <errno.h>

/* A sample, a span, or a wait, which is a span too. */
struct item {
	uint64_t time_ns, weight;
	uint32_t group;
	bool is_span;
};

struct host_time {
	const struct analysis *a;
	uint32_t *order; /* samples, and behind them waits, by thread, then time */
	size_t *first;   /* by thread: its first one; one more at the end */
	size_t *hint; /* by thread: the last answer of first_from(); questions go on from there */
	uint64_t period_ns; /* of a sample; 0: not known */
};

static struct item item_get(const struct analysis *a, uint32_t number)
{
	if (number >= a->samples.len) {
		const struct blocked *b = &a->blocked.data[number - a->samples.len];
		return (struct item){ b->time_ns, b->duration_ns, b->group, true };
	}
	const struct sample *s = &a->samples.data[number];
	return (struct item){ s->time_ns, s->weight, s->group, s->flags & CPU_SAMPLE_SPAN };
}

static uint32_t item_thread(const struct analysis *a, uint32_t number)
{
	return a->sample_groups.data[item_get(a, number).group].thread;
}

static int items_order(struct host_time *h, size_t n)
{
	const struct analysis *a = h->a;
	CLEANUP_FREE uint64_t *keys = calloc(n + 1, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		keys[i] = item_get(a, (uint32_t)i).time_ns;
		h->order[i] = (uint32_t)i;
	}
	if (sort_by_key(keys, h->order, n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		keys[i] = item_thread(a, (uint32_t)i);
	return sort_by_key(keys, h->order, n);
}

int host_time_new(struct host_time **ret, const struct analysis *a)
{
	CLEANUP(host_time_free) struct host_time *h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->a = a;
	h->period_ns = a->header.frequency ? 1000000000 / a->header.frequency : 0;
	size_t n = a->samples.len + a->blocked.len;
	h->order = malloc((n + 1) * sizeof(*h->order));
	h->first = calloc(a->threads.len + 1, sizeof(*h->first));
	h->hint = calloc(a->threads.len + 1, sizeof(*h->hint));
	if (!h->order || !h->first || !h->hint || items_order(h, n) < 0)
		return -ENOMEM;
	for (size_t i = 0, thread = 0; thread <= a->threads.len; thread++) {
		while (i < n && item_thread(a, h->order[i]) < thread)
			i++;
		h->first[thread] = h->hint[thread] = i;
	}
	*ret = TAKE(h);
	return 0;
}

void host_time_free(struct host_time *h)
{
	if (!h)
		return;
	free(h->order);
	free(h->first);
	free(h->hint);
	free(h);
}

static struct item item_at(const struct host_time *h, size_t i)
{
	return item_get(h->a, h->order[i]);
}

/* Where waits are known, a thread that is neither sampled nor waits for something waits for a CPU.
 * Its samples stand for that time, too, if they are so many periods apart that it is not chance. */
#define PERIODS_LEAST 4

/* What samples stand for in a range: a period, or more if there are too few of them. */
static uint64_t sample_ns(const struct host_time *h, uint64_t samples, uint64_t unwaited_ns)
{
	bool is_known = h->a->blocked.len && samples && h->period_ns &&
			unwaited_ns >= PERIODS_LEAST * h->period_ns;
	uint64_t share = is_known ? unwaited_ns / samples : 0;
	return share > h->period_ns ? share : h->period_ns;
}

/* What of a span lies in [@begin_ns, @end_ns). */
static uint64_t span_part(const struct item *x, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t from = x->time_ns > begin_ns ? x->time_ns : begin_ns;
	uint64_t to = x->time_ns + x->weight < end_ns ? x->time_ns + x->weight : end_ns;
	return to > from ? to - from : 0;
}

/* The first of a thread's that begins at @time_ns or later. */
static size_t first_from(const struct host_time *h, uint32_t thread, uint64_t time_ns)
{
	size_t low = h->first[thread], high = h->first[thread + 1], hint = h->hint[thread];
	if (hint > low && item_at(h, hint - 1).time_ns < time_ns) {
		/* Mostly a few further on. */
		size_t step = 1;
		for (low = hint; low + step < high && item_at(h, low + step).time_ns < time_ns;
		     step *= 2)
			low += step;
		high = low + step < high ? low + step : high;
	}
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (item_at(h, mid).time_ns < time_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return h->hint[thread] = low;
}

bool host_time_at(const struct host_time *h, uint32_t thread, uint64_t time_ns, uint32_t *ret)
{
	size_t next = first_from(h, thread, time_ns + 1);
	if (next == h->first[thread])
		return false;
	struct item x = item_at(h, next - 1);
	*ret = x.group;
	return x.is_span && time_ns < x.time_ns + x.weight;
}

void host_time_within(const struct host_time *h, uint32_t thread, uint64_t begin_ns,
		      uint64_t end_ns, uint64_t *sums)
{
	/* A span before the first that begins in the range may reach into it. */
	size_t first = first_from(h, thread, begin_ns);
	first -= first > h->first[thread];
	uint64_t samples = 0, spans_ns = 0;
	for (size_t i = first; i < h->first[thread + 1]; i++) {
		const struct item x = item_at(h, i);
		if (x.time_ns >= end_ns)
			break;
		if (x.is_span)
			spans_ns += span_part(&x, begin_ns, end_ns);
		else if (x.time_ns >= begin_ns)
			samples += x.weight;
	}
	uint64_t length = end_ns - begin_ns;
	uint64_t each = sample_ns(h, samples, spans_ns < length ? length - spans_ns : 0);
	for (size_t i = first; i < h->first[thread + 1]; i++) {
		const struct item x = item_at(h, i);
		if (x.time_ns >= end_ns)
			break;
		if (x.is_span)
			sums[x.group] += span_part(&x, begin_ns, end_ns);
		else if (x.time_ns >= begin_ns)
			sums[x.group] += x.weight * each;
	}
}
