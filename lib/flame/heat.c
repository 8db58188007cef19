/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/heat.h"

#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A narrower grid shows no pattern, a wider one not its pieces. */
#define COLUMNS_MIN   8
#define COLUMNS_MAX   1200
#define COLUMN_NS     1000000000ull
#define COLUMN_NS_MIN 100000ull

static const struct heat_metric metrics[] = {
	{ "device-time", "ns", 1u << EVENT_KIND_WORK | 1u << EVENT_KIND_COPY, true },
	{ "idle", "ns", 1u << EVENT_KIND_IDLE, true },
	{ "cpu-samples", "samples", 1u << EVENT_KIND_SAMPLE, false },
	{ "cpu-time", "ns", 1u << EVENT_KIND_SPAN, true },
	{ "launches", "launches", 1u << EVENT_KIND_LAUNCH, false },
};

const struct heat_metric *heat_metric_at(size_t i)
{
	return i < ARRAY_SIZE(metrics) ? &metrics[i] : NULL;
}

const struct heat_metric *heat_metric_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		if (!strcmp(metrics[i].name, name))
			return &metrics[i];
	}
	return NULL;
}

void heat_release(struct heat *h)
{
	free(h->values);
	profile_free(h->profile);
	vec_release(&h->slices);
	vec_release(&h->events);
}

/* ---- events ---- */

static int heat_begin(void *data, const struct profile *p)
{
	struct heat *h = data;
	h->events_tree = p;
	h->begin_ns = UINT64_MAX;
	return 0;
}

static int heat_track(void *data, uint32_t number, const struct event_track *track)
{
	(void)data;
	(void)number;
	(void)track;
	return 0;
}

static int heat_event(void *data, const struct event *e)
{
	struct heat *h = data;
	if (e->kind == EVENT_KIND_SCOPE || e->kind == EVENT_KIND_COUNTER)
		return 0;
	/* Before everything the capture tells of is nothing: a clock that ran backwards. */
	if (e->time_ns < h->origin_ns)
		return 0;
	if (e->time_ns < h->begin_ns)
		h->begin_ns = e->time_ns;
	if (e->time_ns + e->duration_ns > h->end_ns)
		h->end_ns = e->time_ns + e->duration_ns;
	if (!(h->metric->kinds >> e->kind & 1))
		return 0;
	struct heat_event own = { .time_ns = e->time_ns, .node = e->node, .value = e->value };
	if (h->metric->is_duration)
		own.duration_ns = own.value = e->duration_ns;
	return own.value ? vec_push(&h->events, own) : 0;
}

/* ---- the profile ---- */

struct copy {
	const struct profile *from;
	struct profile *to;
	uint32_t *nodes; /* by node of @from: that of @to, PROFILE_NONE: not yet */
};

static int copy_node(struct copy *c, uint32_t node, uint32_t *ret)
{
	VEC(uint32_t) way = { 0 };
	uint32_t frame;
	int rc = 0;

	for (; c->nodes[node] == PROFILE_NONE && !rc; node = profile_node(c->from, node).parent)
		rc = vec_push(&way, node);
	*ret = c->nodes[node];
	while (way.len && !rc) {
		uint32_t n = way.data[--way.len];
		struct frame f = profile_frame_get(c->from, profile_node(c->from, n).frame);
		rc = profile_frame(c->to, &f, &frame);
		if (!rc)
			rc = profile_child(c->to, *ret, frame, ret);
		c->nodes[n] = *ret;
	}
	vec_release(&way);
	return rc;
}

/* By node: its place in pre-order, as lib/flame/payload.h numbers nodes. */
static uint32_t *number_nodes(const struct profile *p)
{
	uint32_t *order = malloc(profile_node_count(p) * sizeof(*order));
	uint32_t count = 0, node = PROFILE_ROOT;

	while (order && node != PROFILE_NONE) {
		struct profile_node n = profile_node(p, node);
		order[node] = count++;
		uint32_t next = n.first_child;
		while (next == PROFILE_NONE && node != PROFILE_ROOT) {
			next = profile_node(p, node).next;
			node = profile_node(p, node).parent;
		}
		node = next;
	}
	return order;
}

/* Put the events on a profile of their own; their nodes are then its, in pre-order. */
static int make_profile(struct heat *h)
{
	uint32_t nodes = profile_node_count(h->events_tree);
	CLEANUP_FREE uint32_t *map = malloc(nodes * sizeof(*map));
	int rc = map ? profile_new(&h->profile) : -ENOMEM;
	if (rc < 0)
		return rc;
	int metric = profile_metric(h->profile, h->metric->name, h->metric->unit);
	struct copy copy = { h->events_tree, h->profile, map };
	memset(map, 0xff, nodes * sizeof(*map));
	map[PROFILE_ROOT] = PROFILE_ROOT;
	for (size_t i = 0; i < h->events.len && rc >= 0 && metric >= 0; i++) {
		struct heat_event *e = &h->events.data[i];
		rc = copy_node(&copy, e->node, &e->node);
		if (rc >= 0)
			profile_add(h->profile, e->node, metric, e->value);
	}
	if (rc < 0 || metric < 0 || profile_finish(h->profile) < 0)
		return -ENOMEM;
	CLEANUP_FREE uint32_t *order = number_nodes(h->profile);
	if (!order)
		return -ENOMEM;
	vec_for_each(&h->events, e)
		e->node = order[e->node];
	return 0;
}

/* ---- the grid ---- */

/* Of a grid with more pieces than samples, all that is seen are the moments they were taken at. */
static bool has_samples_for(const struct heat *h, uint64_t columns)
{
	bool is_sampled = h->metric->kinds == 1u << EVENT_KIND_SAMPLE;
	return !is_sampled || columns * HEAT_ROWS <= h->events.len;
}

static void choose_columns(struct heat *h)
{
	uint64_t all_ns = h->end_ns - h->begin_ns;

	h->column_ns = COLUMN_NS;
	while (all_ns / h->column_ns < COLUMNS_MIN && h->column_ns > COLUMN_NS_MIN &&
	       has_samples_for(h, all_ns * 10 / h->column_ns + 1))
		h->column_ns /= 10;
	while (all_ns / h->column_ns >= COLUMNS_MAX)
		h->column_ns *= 10;
	h->begin_ns -= (h->begin_ns - h->origin_ns) % h->column_ns;
	h->columns = (uint32_t)((h->end_ns - h->begin_ns) / h->column_ns) + 1;
}

static int add_slice(struct heat *h, uint64_t piece, uint32_t node, uint64_t value)
{
	if (h->slices.len >= HEAT_SLICES_MAX)
		return -E2BIG;
	if (__builtin_add_overflow(h->values[piece], value, &h->values[piece]))
		h->values[piece] = UINT64_MAX;
	return vec_push(&h->slices, (struct heat_slice){ (uint32_t)piece, node, value });
}

/* What lasts is in each piece for as long as it was. */
static int spread_event(struct heat *h, const struct heat_event *e)
{
	uint64_t piece_ns = heat_piece_ns(h), from = e->time_ns - h->begin_ns;
	uint64_t to = from + e->duration_ns;
	int rc = 0;

	if (!e->duration_ns)
		return add_slice(h, from / piece_ns, e->node, e->value);
	while (from < to && rc >= 0) {
		uint64_t piece = from / piece_ns, next = (piece + 1) * piece_ns;
		uint64_t end = next < to ? next : to;
		rc = add_slice(h, piece, e->node, end - from);
		from = end;
	}
	return rc;
}

static int compare_slices(const void *a, const void *b)
{
	const struct heat_slice *x = a, *y = b;
	if (x->piece != y->piece)
		return x->piece < y->piece ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static void merge_slices(struct heat *h)
{
	size_t kept = 0;
	if (!h->slices.len)
		return;
	qsort(h->slices.data, h->slices.len, sizeof(*h->slices.data), compare_slices);
	for (size_t i = 1; i < h->slices.len; i++) {
		struct heat_slice *last = &h->slices.data[kept], *s = &h->slices.data[i];
		if (last->piece == s->piece && last->node == s->node)
			last->value += s->value;
		else
			h->slices.data[++kept] = *s;
	}
	h->slices.len = kept + 1;
}

static int heat_end(void *data)
{
	struct heat *h = data;
	if (!h->events.len)
		return -ENODATA;
	choose_columns(h);
	h->values = calloc((size_t)h->columns * HEAT_ROWS, sizeof(*h->values));
	int rc = h->values ? make_profile(h) : -ENOMEM;
	for (size_t i = 0; i < h->events.len && rc >= 0; i++)
		rc = spread_event(h, &h->events.data[i]);
	if (rc >= 0)
		merge_slices(h);
	return rc;
}

struct event_sink heat_sink(struct heat *h)
{
	return (struct event_sink){ .data = h,
				    .begin = heat_begin,
				    .track = heat_track,
				    .event = heat_event,
				    .end = heat_end };
}
