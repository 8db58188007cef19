/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/waits.h"

#include "analyze/sort.h"

#include <errno.h>

/* A span's begin or end. */
struct edge {
	uint64_t time_ns;
	uint32_t thread;
	uint16_t state;
	bool is_end;
};

struct edges {
	VEC(struct edge) list;
};

void waits_release(struct waits *w)
{
	vec_release(&w->spans);
	hash_release(&w->first);
	*w = (struct waits){ 0 };
}

static int edges_add(struct edges *e, uint32_t thread, enum account_state state, uint64_t time_ns,
		     uint64_t duration_ns)
{
	if (!duration_ns || !thread)
		return 0;
	if (vec_push(&e->list, (struct edge){ time_ns, thread, (uint16_t)state, false }) < 0)
		return -ENOMEM;
	return vec_push(&e->list,
			(struct edge){ time_ns + duration_ns, thread, (uint16_t)state, true });
}

static int edges_collect(struct edges *e, const struct analysis *a)
{
	int rc = 0;

	vec_for_each(&a->syncs, s)
		rc = rc ? rc : edges_add(e, s->thread, ACCOUNT_SYNC, s->time_ns, s->duration_ns);
	vec_for_each(&a->blocked, b)
		rc = rc ? rc : edges_add(e, b->thread, ACCOUNT_BLOCKED, b->time_ns, b->duration_ns);
	vec_for_each(&a->launches, l) {
		if (l->kind == LAUNCH_COPY && !rc)
			rc = edges_add(e, l->thread, ACCOUNT_COPY, l->time_ns, l->duration_ns);
	}
	return rc;
}

static int edges_order(const struct edges *e, uint32_t *order)
{
	size_t n = e->list.len;
	CLEANUP_FREE uint64_t *keys = calloc(n + 1, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		keys[i] = e->list.data[i].time_ns;
		order[i] = (uint32_t)i;
	}
	if (sort_by_key(keys, order, n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		keys[i] = e->list.data[i].thread;
	return sort_by_key(keys, order, n);
}

static int span_add(struct waits *w, uint32_t thread, enum account_state state, uint64_t begin_ns,
		    uint64_t end_ns)
{
	struct wait_span *last = w->spans.len ? vec_last(&w->spans) : NULL;

	if (begin_ns == end_ns)
		return 0;
	if (!last || last->thread != thread) {
		if (hash_set(&w->first, thread, w->spans.len) < 0)
			return -ENOMEM;
	} else if (last->end_ns == begin_ns && last->state == state) {
		last->end_ns = end_ns;
		return 0;
	}
	return vec_push(&w->spans, (struct wait_span){ begin_ns, end_ns, thread, state });
}

/* The most telling of what is open; a call that waits for the device is also off the CPU. */
static enum account_state state_of(const uint32_t open[ACCOUNT_STATE_COUNT])
{
	return open[ACCOUNT_SYNC]   ? ACCOUNT_SYNC
	       : open[ACCOUNT_COPY] ? ACCOUNT_COPY
				    : ACCOUNT_BLOCKED;
}

int waits_init(struct waits *w, const struct analysis *a)
{
	struct edges e = { 0 };
	int rc = edges_collect(&e, a);
	CLEANUP_FREE uint32_t *order = malloc((e.list.len + 1) * sizeof(*order));
	if (!rc)
		rc = order ? edges_order(&e, order) : -ENOMEM;

	uint32_t open[ACCOUNT_STATE_COUNT] = { 0 };
	uint32_t depth = 0;
	for (size_t i = 0; i < e.list.len && !rc; i++) {
		const struct edge *at = &e.list.data[order[i]];
		if (depth)
			rc = span_add(w, at->thread, state_of(open),
				      e.list.data[order[i - 1]].time_ns, at->time_ns);
		/* Edges of one thread balance, so that depth is 0 where the next one begins. */
		open[at->state] += at->is_end ? UINT32_MAX : 1;
		depth += at->is_end ? UINT32_MAX : 1;
	}
	vec_release(&e.list);
	if (rc < 0)
		waits_release(w);
	return rc;
}

uint64_t waits_within(const struct waits *w, uint32_t thread, uint64_t begin_ns, uint64_t end_ns,
		      uint64_t ns[ACCOUNT_STATE_COUNT])
{
	const uint64_t *first = thread ? hash_get(&w->first, thread) : NULL;
	uint64_t sum = 0;
	if (!first)
		return 0;

	/* The first span of this thread that ends after @begin_ns. */
	size_t low = *first, high = w->spans.len;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct wait_span *s = &w->spans.data[mid];
		if (s->thread == thread && s->end_ns <= begin_ns)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < w->spans.len; low++) {
		const struct wait_span *s = &w->spans.data[low];
		if (s->thread != thread || s->begin_ns >= end_ns)
			break;
		uint64_t from = s->begin_ns > begin_ns ? s->begin_ns : begin_ns;
		uint64_t to = s->end_ns < end_ns ? s->end_ns : end_ns;
		ns[s->state] += to - from;
		sum += to - from;
	}
	return sum;
}
