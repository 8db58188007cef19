/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/host_time.h"

#include "analyze/sort.h"

#include <errno.h>

struct host_time {
	const struct analysis *a;
	uint32_t *order;    /* samples by thread, then time */
	size_t *first;      /* by thread: its first one; one more at the end */
	uint64_t period_ns; /* of a sample; 0: not known */
};

static uint32_t sample_thread(const struct analysis *a, uint32_t sample)
{
	return a->sample_groups.data[a->samples.data[sample].group].thread;
}

static int samples_order(struct host_time *h)
{
	const struct analysis *a = h->a;
	size_t n = a->samples.len;
	CLEANUP_FREE uint64_t *keys = calloc(n + 1, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		keys[i] = a->samples.data[i].time_ns;
		h->order[i] = (uint32_t)i;
	}
	if (sort_by_key(keys, h->order, n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		keys[i] = sample_thread(a, (uint32_t)i);
	return sort_by_key(keys, h->order, n);
}

int host_time_new(struct host_time **ret, const struct analysis *a)
{
	CLEANUP(host_time_free) struct host_time *h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->a = a;
	h->period_ns = a->header.frequency ? 1000000000 / a->header.frequency : 0;
	h->order = malloc((a->samples.len + 1) * sizeof(*h->order));
	h->first = calloc(a->threads.len + 1, sizeof(*h->first));
	if (!h->order || !h->first || samples_order(h) < 0)
		return -ENOMEM;
	for (size_t i = 0, thread = 0; thread <= a->threads.len; thread++) {
		while (i < a->samples.len && sample_thread(a, h->order[i]) < thread)
			i++;
		h->first[thread] = i;
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
	free(h);
}

static const struct sample *sample_at(const struct host_time *h, size_t i)
{
	return &h->a->samples.data[h->order[i]];
}

/* What a sample stands for of [@begin_ns, @end_ns). */
static uint64_t sample_part(const struct host_time *h, const struct sample *s, uint64_t begin_ns,
			    uint64_t end_ns)
{
	if (!(s->flags & CPU_SAMPLE_SPAN))
		return s->time_ns >= begin_ns ? s->weight * h->period_ns : 0;
	uint64_t from = s->time_ns > begin_ns ? s->time_ns : begin_ns;
	uint64_t to = s->time_ns + s->weight < end_ns ? s->time_ns + s->weight : end_ns;
	return to > from ? to - from : 0;
}

void host_time_within(const struct host_time *h, uint32_t thread, uint64_t begin_ns,
		      uint64_t end_ns, uint64_t *sums)
{
	size_t low = h->first[thread], high = h->first[thread + 1];
	size_t start = low;

	/* The first that begins in the range; a span before it may reach into it. */
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (sample_at(h, mid)->time_ns < begin_ns)
			low = mid + 1;
		else
			high = mid;
	}
	if (low > start)
		low--;
	for (; low < h->first[thread + 1]; low++) {
		const struct sample *s = sample_at(h, low);
		if (s->time_ns >= end_ns)
			break;
		sums[s->group] += sample_part(h, s, begin_ns, end_ns);
	}
}
