/* SPDX-License-Identifier: Apache-2.0 */
#include "import/nest.h"

#include "base/bisect.h"
#include "base/cleanup.h"
#include "import/sort.h"

#include <errno.h>

/* What rounding makes of one moment: two nanoseconds where times are exact, else one microsecond,
 * as start and duration were cut separately. */
#define TOLERANCE_EXACT_NS   2
#define TOLERANCE_ROUNDED_NS 1000
/* Waits for the engine nest at most this deep (a backward pass inside a backward pass). */
#define ENGINE_SEARCH_MAX 64

enum lane_state {
	LANE_NEW,
	LANE_BUSY, /* being swept */
	LANE_DONE,
};

/* ---- order ---- */

/* Of two events with the same times, which is the caller: as frameworks call each other. */
static const uint8_t kind_rank[HOST_KIND_COUNT] = {
	[HOST_PYTHON] = 0, [HOST_SCOPE] = 1, [HOST_OTHER] = 1,
	[HOST_OP] = 2,     [HOST_CALL] = 3,  [HOST_INSIDE] = 1,
};

static bool host_before(const void *data, uint32_t a, uint32_t b)
{
	const struct host_event *events = data, *x = &events[a], *y = &events[b];

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns;
	if (x->has_order != y->has_order)
		return x->has_order;
	if (!x->has_order && kind_rank[x->kind] != kind_rank[y->kind])
		return kind_rank[x->kind] < kind_rank[y->kind];
	return a < b;
}

static bool wait_before(const void *data, uint32_t a, uint32_t b)
{
	const struct host_event *events = data;
	return events[a].start_ns < events[b].start_ns;
}

static int find_waits(struct nest *n)
{
	struct trace *t = n->trace;
	VEC(uint32_t) found = { 0 };
	int rc = 0;

	for (size_t i = 0; i < t->host.len && !rc; i++) {
		if (frames_info(t->frames, t->host.data[i].frame)->traits & FRAME_RUNS_BACKWARD)
			rc = vec_push(&found, (uint32_t)i);
	}
	if (!rc)
		rc = sort_numbers(found.data, found.len, wait_before, t->host.data);
	int64_t longest = INT64_MIN;
	for (size_t i = 0; i < found.len && !rc; i++) {
		const struct host_event *e = &t->host.data[found.data[i]];
		if (e->end_ns > longest)
			longest = e->end_ns;
		rc = vec_push(&n->waits, (struct engine_wait){
						 .start_ns = e->start_ns,
						 .end_ns = e->end_ns,
						 .longest_end_ns = longest,
						 .event = found.data[i],
					 });
	}
	vec_release(&found);
	return rc;
}

/* Lanes on which autograd's engine evaluates backward ops. */
static void find_engines(struct nest *n)
{
	struct trace *t = n->trace;

	vec_for_each(&t->host, e) {
		if (frames_info(t->frames, e->frame)->traits & FRAME_IS_BACKWARD)
			n->is_engine.data[e->lane] = 1;
	}
	vec_for_each(&t->sequences, s) {
		if (s->forward_thread)
			n->is_engine.data[t->host.data[s->event].lane] = 1;
	}
}

/* The arrow from forward ends at the node itself; what evaluates it stands around it. */
static int link_evaluations(struct trace *t, const struct lane *lane)
{
	for (size_t i = 0; i + 1 < lane->order.len; i++) {
		uint32_t outer = lane->order.data[i], inner = lane->order.data[i + 1];
		const struct host_event *e = &t->host.data[outer];
		if (!(frames_info(t->frames, e->frame)->traits & FRAME_IS_BACKWARD) ||
		    hash_get(&t->forward_of, outer) || t->host.data[inner].end_ns > e->end_ns)
			continue;
		const uint64_t *forward = hash_get(&t->forward_of, inner);
		if (forward && hash_set(&t->forward_of, outer, *forward) < 0)
			return -ENOMEM;
	}
	return 0;
}

int nest_init(struct nest *n, struct trace *t)
{
	*n = (struct nest){
		.trace = t,
		.tolerance_ns = t->is_exact ? TOLERANCE_EXACT_NS : TOLERANCE_ROUNDED_NS,
	};
	for (size_t i = 0; i < t->lanes.len; i++) {
		if (vec_push(&n->states, LANE_NEW) < 0 || vec_push(&n->is_engine, 0) < 0)
			return -ENOMEM;
	}
	vec_for_each(&t->lanes, lane) {
		int rc = sort_numbers(lane->order.data, lane->order.len, host_before, t->host.data);
		if (!rc)
			rc = link_evaluations(t, lane);
		if (rc < 0)
			return rc;
	}
	find_engines(n);
	return find_waits(n);
}

void nest_release(struct nest *n)
{
	vec_release(&n->states);
	vec_release(&n->is_engine);
	vec_release(&n->waits);
}

/* ---- what an event stands on besides its own lane ---- */

static int nest_lane(struct nest *n, uint32_t lane);

/* The path of an event of another lane, which may have to be swept first; PATH_EMPTY: not known. */
static int path_elsewhere(struct nest *n, uint32_t event, const struct host_event *from,
			  uint32_t *ret)
{
	struct host_event *e = &n->trace->host.data[event];

	*ret = PATH_EMPTY;
	if (e->start_ns > from->start_ns)
		return 0;
	if (n->states.data[e->lane] == LANE_NEW) {
		int rc = nest_lane(n, e->lane);
		if (rc < 0)
			return rc;
	}
	*ret = e->path; /* not set yet where two lanes wait for each other */
	return 0;
}

/* The innermost call that waits for the engine at the time of @e, on another lane. */
static const struct engine_wait *find_wait(const struct nest *n, const struct host_event *e)
{
	size_t below = bisect(n->waits.len, i, n->waits.data[i].start_ns <= e->start_ns);

	for (size_t i = below, tries = 0; i-- && tries < ENGINE_SEARCH_MAX; tries++) {
		const struct engine_wait *w = &n->waits.data[i];
		if (w->longest_end_ns <= e->start_ns)
			break;
		if (w->end_ns > e->start_ns && n->trace->host.data[w->event].lane != e->lane)
			return w;
	}
	return NULL;
}

/* The path of an event on top of @below, what is open on its lane, and of what it brings or is
 * linked to. */
static int path_of(struct nest *n, uint32_t id, uint32_t below, uint32_t *ret)
{
	struct frames *f = n->trace->frames;
	const struct host_event *e = &n->trace->host.data[id];
	const uint64_t *forward = hash_get(&n->trace->forward_of, id);
	uint32_t other = PATH_EMPTY, mark = 0;
	int rc = 0;

	if (frames_traits(f, below) & FRAME_IS_PYTHON) {
		/* What called it is known already. */
	} else if (e->base && e->kind == HOST_OP) {
		other = e->base;
	} else if (forward) {
		rc = path_elsewhere(n, (uint32_t)*forward, e, &other);
		mark = PATH_UNDER_FORWARD;
	} else if (below == PATH_EMPTY && n->is_engine.data[e->lane]) {
		const struct engine_wait *w = find_wait(n, e);
		if (w)
			rc = path_elsewhere(n, w->event, e, &other);
		mark = PATH_UNDER_ENGINE;
	}
	/* What both are inside of is not said twice. */
	if (!rc && other != PATH_EMPTY)
		rc = frames_join(f, other, below, frames_common(f, other, below), &below);
	if (!rc)
		rc = frames_path(f, below, e->frame, ret);
	if (!rc && other != PATH_EMPTY)
		f->nodes.data[*ret].traits |= mark;
	return rc;
}

/* ---- the sweep ---- */

void sweep_init(struct sweep *s, struct nest *n, uint32_t lane)
{
	*s = (struct sweep){ .nest = n, .lane = lane, .now_ns = INT64_MIN };
}

void sweep_release(struct sweep *s)
{
	vec_release(&s->open);
}

static uint32_t sweep_path(const struct sweep *s)
{
	return s->open.len ? vec_last(&s->open)->path : PATH_EMPTY;
}

/* The open event that ends first: the innermost, but for those that outlast the one below. */
static size_t first_to_end(const struct sweep *s)
{
	size_t first = s->open.len - 1;

	for (size_t i = s->open.len; s->overlaps && i--;) {
		if (s->open.data[i].end_ns < s->open.data[first].end_ns)
			first = i;
	}
	return first;
}

static void count_overlaps(struct sweep *s)
{
	s->overlaps = 0;
	for (size_t i = 1; i < s->open.len; i++)
		s->overlaps += s->open.data[i].end_ns > s->open.data[i - 1].end_ns;
}

/* Take one out; those above it stand on what was below it from now on. */
static int sweep_close(struct sweep *s, size_t at)
{
	memmove(&s->open.data[at], &s->open.data[at + 1],
		(s->open.len - at - 1) * sizeof(*s->open.data));
	s->open.len--;
	for (size_t i = at; i < s->open.len; i++) {
		struct open_event *o = &s->open.data[i];
		uint32_t below = i ? s->open.data[i - 1].path : PATH_EMPTY;
		int rc = path_of(s->nest, o->event, below, &o->path);
		if (rc < 0)
			return rc;
	}
	if (s->overlaps)
		count_overlaps(s);
	return 0;
}

/* A function cannot outlast its caller: what ends later was measured so. An annotation can. */
static int64_t clipped_end(struct sweep *s, const struct host_event *e, bool is_call_like)
{
	int64_t end_ns = e->end_ns;

	for (size_t i = s->open.len; i--;) {
		const struct open_event *o = &s->open.data[i];
		if (end_ns <= o->end_ns)
			break;
		bool is_rounded = end_ns - o->end_ns <= s->nest->tolerance_ns;
		if (!is_rounded && !(is_call_like && o->is_call_like))
			continue;
		s->nest->trace->clipped += s->is_counted && !is_rounded;
		end_ns = o->end_ns;
		break;
	}
	return end_ns;
}

static int sweep_open(struct sweep *s, uint32_t id)
{
	struct trace *t = s->nest->trace;
	struct host_event *e = &t->host.data[id];
	const struct frame_info *info = frames_info(t->frames, e->frame);
	struct open_event o = {
		.event = id,
		.is_call_like = e->kind != HOST_OTHER && e->kind != HOST_INSIDE &&
				info->traits & FRAME_IS_CALL_LIKE,
		.detail = s->open.len ? vec_last(&s->open)->detail : 0,
	};

	o.end_ns = clipped_end(s, e, o.is_call_like);
	int rc = path_of(s->nest, id, sweep_path(s), &o.path);
	if (rc < 0)
		return rc;
	e->path = o.path;
	if (e->kind == HOST_OP && e->detail)
		o.detail = e->detail;
	else if (e->kind == HOST_CALL)
		e->base = o.detail;
	if (s->open.len && o.end_ns > vec_last(&s->open)->end_ns) {
		s->overlaps++;
		t->overlapping += s->is_counted;
	}
	return vec_push(&s->open, o);
}

/* One step in time: 1 when @ret is a span, 0 when nothing lasted, 2 at the end. */
static int sweep_step(struct sweep *s, struct span_ns *ret)
{
	const struct trace *t = s->nest->trace;
	const struct lane *lane = &t->lanes.data[s->lane];
	bool has_next = s->next < lane->order.len;
	int64_t until = has_next ? t->host.data[lane->order.data[s->next]].start_ns : INT64_MAX;
	uint32_t path = sweep_path(s);
	size_t closing = SIZE_MAX;

	if (!has_next && !s->open.len)
		return 2;
	if (s->open.len) {
		size_t first = first_to_end(s);
		if (s->open.data[first].end_ns <= until) {
			closing = first;
			until = s->open.data[first].end_ns;
		}
	}
	bool lasted = path && s->now_ns < until;
	if (lasted)
		*ret = (struct span_ns){
			.start_ns = s->now_ns,
			.end_ns = until,
			.path = path,
			.event = vec_last(&s->open)->event,
		};
	if (s->now_ns < until)
		s->now_ns = until;
	int rc = closing != SIZE_MAX ? sweep_close(s, closing)
				     : sweep_open(s, lane->order.data[s->next++]);
	return rc < 0 ? rc : lasted;
}

int sweep_next(struct sweep *s, struct span_ns *ret)
{
	struct span_ns more;
	int rc;

	while ((rc = sweep_step(s, &more)) != 2) {
		if (rc < 0)
			return rc;
		if (!rc)
			continue;
		struct span_ns *held = &s->held;
		if (held->path == more.path && held->end_ns == more.start_ns) {
			held->end_ns = more.end_ns;
			continue;
		}
		*ret = *held;
		*held = more;
		if (ret->path)
			return 1;
	}
	*ret = s->held;
	s->held.path = PATH_EMPTY;
	return ret->path != PATH_EMPTY;
}

static int nest_lane(struct nest *n, uint32_t lane)
{
	struct sweep s;
	struct span_ns span;
	int rc;

	n->states.data[lane] = LANE_BUSY;
	sweep_init(&s, n, lane);
	s.is_counted = true;
	do
		rc = sweep_step(&s, &span);
	while (rc == 0 || rc == 1);
	sweep_release(&s);
	n->states.data[lane] = LANE_DONE;
	return rc < 0 ? rc : 0;
}

int nest_all(struct nest *n)
{
	for (uint32_t lane = 0; lane < n->trace->lanes.len; lane++) {
		if (n->states.data[lane] != LANE_NEW)
			continue;
		int rc = nest_lane(n, lane);
		if (rc < 0)
			return rc;
	}
	return 0;
}
