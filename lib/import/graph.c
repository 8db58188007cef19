/* SPDX-License-Identifier: Apache-2.0 */
#include "import/graph.h"

#include "base/cleanup.h"
#include "capture/record.h"
#include "import/sort.h"

#include <errno.h>

/* Sequences that are not equal are compared in full up to this many steps (32 MB of table); graphs
 * of a whole model have some thousands. */
#define GRAPH_LCS_MAX 4096
/* A capture that explains less of a replay than this is another graph's. */
#define GRAPH_LEAST_SHARE 2 /* one half */

/* One thing that a graph does. */
struct step {
	uint32_t name;   /* string; 0: the runtime does not say which kernel a call launches */
	uint32_t kind;   /* enum device_kind */
	uint32_t path;   /* captures: of the call */
	uint32_t device; /* replays: the event */
};

/* A capture or a replay: steps[first] on. */
struct sequence {
	uint32_t first, count;
	uint64_t hash;   /* of names and kinds: equal ones do the same */
	uint32_t replay; /* replays: the host event of the call */
	uint32_t order;  /* captures: how many equal ones came before */
	uint32_t uses;   /* captures, of the first of equal ones: replays given out */
};

struct graph {
	struct trace *trace;
	VEC(struct step) captured, replayed;
	VEC(struct sequence) captures, replays;
	struct hash first_of; /* hash of a capture -> the first of those equal ones */
	struct hash counts;   /* hash of a capture -> how many are equal */
	struct hash by_order; /* (hash, order) -> capture */
	/* What was found for replays of the same work. */
	struct hash known;     /* hash of a replay -> place in `matches` */
	VEC(uint32_t) matches; /* the capture, then the captured step of each replayed one */
};

static void graph_release(struct graph *g)
{
	vec_release(&g->captured);
	vec_release(&g->replayed);
	vec_release(&g->captures);
	vec_release(&g->replays);
	hash_release(&g->first_of);
	hash_release(&g->counts);
	hash_release(&g->by_order);
	hash_release(&g->known);
	vec_release(&g->matches);
}

static uint64_t sequence_hash(const struct step *steps, uint32_t count)
{
	uint64_t h = count;
	for (uint32_t i = 0; i < count; i++)
		h = hash_u64(h ^ hash_pair(steps[i].name, steps[i].kind));
	return h;
}

/* ---- captures ---- */

static int captured_kind(uint32_t traits)
{
	if (traits & FRAME_COPIES)
		return DEVICE_COPY;
	if (traits & FRAME_FILLS)
		return DEVICE_FILL;
	return traits & FRAME_LAUNCHES ? DEVICE_KERNEL : -1;
}

static int capture_end(struct graph *g, uint32_t first)
{
	struct sequence s = {
		.first = first,
		.count = (uint32_t)g->captured.len - first,
	};
	uint32_t id = (uint32_t)g->captures.len;

	if (!s.count)
		return 0;
	s.hash = sequence_hash(&g->captured.data[first], s.count);
	const uint64_t *count = hash_get(&g->counts, s.hash);
	s.order = count ? (uint32_t)*count : 0;
	int rc = hash_set(&g->counts, s.hash, s.order + 1);
	if (!rc && !s.order)
		rc = hash_set(&g->first_of, s.hash, id);
	if (!rc)
		rc = hash_set(&g->by_order, hash_u64(s.hash) + s.order, id);
	return rc < 0 ? rc : vec_push(&g->captures, s);
}

/* The calls between the beginning and the end of a capture, on the thread that captures. */
static int lane_captures(struct graph *g, const struct trace *t, const struct lane *lane)
{
	uint32_t first = 0;
	bool is_capturing = false;

	vec_for_each(&lane->order, id) {
		const struct host_event *e = &t->host.data[*id];
		if (e->kind != HOST_CALL)
			continue;
		uint32_t traits = frames_info(t->frames, e->frame)->traits;
		if (traits & FRAME_BEGINS_CAPTURE) {
			is_capturing = true;
			first = (uint32_t)g->captured.len;
		} else if (traits & FRAME_ENDS_CAPTURE && is_capturing) {
			is_capturing = false;
			int rc = capture_end(g, first);
			if (rc < 0)
				return rc;
		}
		int kind = captured_kind(traits);
		if (!is_capturing || kind < 0)
			continue;
		struct step step = {
			.name = e->detail,
			.kind = (uint32_t)kind,
			.path = e->path,
		};
		if (vec_push(&g->captured, step) < 0)
			return -ENOMEM;
	}
	if (is_capturing) /* cut off: the steps are not those of a whole graph */
		g->captured.len = first;
	return 0;
}

static int find_captures(struct graph *g, const struct trace *t)
{
	vec_for_each(&t->lanes, lane) {
		int rc = lane->is_host ? lane_captures(g, t, lane) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- replays ---- */

static bool replay_before(const void *data, uint32_t a, uint32_t b)
{
	const struct trace *t = data;
	const struct device_event *x = &t->device.data[a], *y = &t->device.data[b];
	int64_t x_ns = t->host.data[x->launch].start_ns, y_ns = t->host.data[y->launch].start_ns;

	if (x->launch != y->launch)
		return x_ns != y_ns ? x_ns < y_ns : x->launch < y->launch;
	return x->start_ns < y->start_ns;
}

static bool is_replayed(const struct trace *t, const struct device_event *d)
{
	return d->launch != TRACE_NONE &&
	       frames_info(t->frames, t->host.data[d->launch].frame)->traits & FRAME_LAUNCHES_GRAPH;
}

static uint32_t step_kind(const struct device_event *d)
{
	return d->kind == DEVICE_COPY || d->kind == DEVICE_FILL ? d->kind : DEVICE_KERNEL;
}

static int add_replayed(struct graph *g, uint32_t id)
{
	const struct device_event *d = &g->trace->device.data[id];
	struct step step = { .kind = step_kind(d), .device = id };

	/* Copies are called by the function that makes them, not by what they are called later. */
	if (step.kind == DEVICE_KERNEL)
		step.name = d->name;
	if (!g->replays.len || vec_last(&g->replays)->replay != d->launch) {
		struct sequence s = {
			.first = (uint32_t)g->replayed.len,
			.replay = d->launch,
		};
		if (vec_push(&g->replays, s) < 0)
			return -ENOMEM;
	}
	vec_last(&g->replays)->count++;
	return vec_push(&g->replayed, step);
}

static int find_replays(struct graph *g)
{
	struct trace *t = g->trace;
	VEC(uint32_t) found = { 0 };
	int rc = 0;

	for (size_t i = 0; i < t->device.len && !rc; i++) {
		if (is_replayed(t, &t->device.data[i]))
			rc = vec_push(&found, (uint32_t)i);
	}
	if (!rc)
		rc = sort_numbers(found.data, found.len, replay_before, t);
	for (size_t i = 0; i < found.len && !rc; i++)
		rc = add_replayed(g, found.data[i]);
	vec_release(&found);
	return rc;
}

/* ---- matching ---- */

static bool step_fits(const struct step *replayed, const struct step *captured)
{
	if (replayed->kind != captured->kind)
		return false;
	return !captured->name || replayed->kind != DEVICE_KERNEL ||
	       replayed->name == captured->name;
}

/*
 * The longest common subsequence, as it lies: @match[i] becomes the captured step of replayed step i,
 * or UINT32_MAX. How many there are, or negative.
 */
static int64_t common(const struct step *r, uint32_t m, const struct step *c, uint32_t n,
		      uint32_t *match)
{
	CLEANUP_FREE uint16_t *table = NULL;
	uint32_t done = 0, i = 0, j = 0, width;

	/* What is equal at the front needs no table; in most captures that is all. */
	for (; done < m && done < n && step_fits(&r[done], &c[done]); done++)
		match[done] = done;
	for (i = done; i < m; i++)
		match[i] = UINT32_MAX;
	m -= done;
	n -= done;
	if (!m || !n || m > GRAPH_LCS_MAX || n > GRAPH_LCS_MAX)
		return done;
	r += done;
	c += done;
	match += done;

	width = n + 1;
	table = calloc((size_t)(m + 1) * width, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (i = m; i--;) {
		for (j = n; j--;) {
			uint16_t *cell = &table[(size_t)i * width + j];
			if (step_fits(&r[i], &c[j]))
				*cell = (uint16_t)(cell[width + 1] + 1);
			else
				*cell = cell[width] > cell[1] ? cell[width] : cell[1];
		}
	}
	int64_t found = done;
	for (i = j = 0; i < m && j < n;) {
		const uint16_t *cell = &table[(size_t)i * width + j];
		if (step_fits(&r[i], &c[j])) {
			match[i++] = done + j++;
			found++;
		} else if (cell[width] >= cell[1]) {
			i++;
		} else {
			j++;
		}
	}
	return found;
}

/* Of equal captures the k-th is the k-th replay's: repeated layers are captured one by one. */
static uint32_t take_turn(struct graph *g, uint32_t capture)
{
	const struct sequence *s = &g->captures.data[capture];
	const uint64_t *first = hash_get(&g->first_of, s->hash);
	const uint64_t *count = hash_get(&g->counts, s->hash);
	if (!first || !count)
		return capture;
	uint32_t turn = g->captures.data[*first].uses++ % (uint32_t)*count;
	const uint64_t *taken = hash_get(&g->by_order, hash_u64(s->hash) + turn);
	return taken ? (uint32_t)*taken : capture;
}

/* The capture that explains most of a replay. */
static int best_capture(struct graph *g, const struct sequence *replay, uint32_t *match,
			uint32_t *scratch, uint32_t *ret)
{
	int64_t best = 0;

	*ret = UINT32_MAX;
	for (uint32_t i = 0; i < g->captures.len && best < replay->count; i++) {
		const struct sequence *c = &g->captures.data[i];
		if (c->order) /* the same as one that was tried */
			continue;
		int64_t found = common(&g->replayed.data[replay->first], replay->count,
				       &g->captured.data[c->first], c->count, scratch);
		if (found < 0)
			return (int)found;
		/* Of two that explain as much, the one that has less besides. */
		bool is_better = found > best || (found == best && found && *ret != UINT32_MAX &&
						  c->count < g->captures.data[*ret].count);
		if (!is_better)
			continue;
		best = found;
		*ret = i;
		memcpy(match, scratch, replay->count * sizeof(*match));
	}
	if (best * GRAPH_LEAST_SHARE < replay->count)
		*ret = UINT32_MAX;
	return 0;
}

static int mark_replay(struct graph *g, struct device_event *d, uint32_t frame)
{
	struct frames *f = g->trace->frames;
	return frames_path(f, g->trace->host.data[d->launch].path, frame, &d->path);
}

/* Where in g->matches the answer for this replay stands. */
static int find_match(struct graph *g, const struct sequence *replay, size_t *ret)
{
	uint64_t hash = sequence_hash(&g->replayed.data[replay->first], replay->count);
	const uint64_t *known = hash_get(&g->known, hash);
	if (known) {
		*ret = *known;
		return 0;
	}

	CLEANUP_FREE uint32_t *scratch = calloc(replay->count, sizeof(*scratch));
	size_t at = g->matches.len;
	if (!scratch || vec_reserve(&g->matches, at + 1 + replay->count) < 0 ||
	    hash_set(&g->known, hash, at) < 0)
		return -ENOMEM;
	uint32_t *capture = &g->matches.data[at];
	int rc = best_capture(g, replay, capture + 1, scratch, capture);
	g->matches.len += 1 + (size_t)replay->count;
	*ret = at;
	return rc;
}

static int match_replay(struct graph *g, const struct sequence *replay, uint32_t missing)
{
	size_t at;
	int rc = find_match(g, replay, &at);
	if (rc < 0)
		return rc;

	const uint32_t *match = &g->matches.data[at + 1];
	uint32_t capture = g->matches.data[at];
	if (capture != UINT32_MAX)
		capture = take_turn(g, capture);
	for (uint32_t i = 0; i < replay->count; i++) {
		struct device_event *d =
			&g->trace->device.data[g->replayed.data[replay->first + i].device];
		d->flags |= LAUNCH_REPLAY;
		if (capture == UINT32_MAX || match[i] == UINT32_MAX) {
			rc = mark_replay(g, d, missing);
			if (rc < 0)
				return rc;
			continue;
		}
		const struct sequence *c = &g->captures.data[capture];
		d->path = g->captured.data[c->first + match[i]].path;
		d->flags |= LAUNCH_AT_CAPTURE;
	}
	return 0;
}

int graph_match(struct trace *t, const struct trace *captures)
{
	static const char text[] = "[graph replay]";
	struct graph g = { .trace = t };
	uint32_t missing;
	int rc = find_replays(&g);

	if (!rc && g.replays.len && captures)
		rc = find_captures(&g, captures);
	if (!rc && g.replays.len)
		rc = find_captures(&g, t);
	if (!rc)
		rc = frames_add(t->frames, OBJECT_MISSING, span_of(text, sizeof(text) - 1),
				&missing);
	for (size_t i = 0; i < g.replays.len && !rc; i++)
		rc = match_replay(&g, &g.replays.data[i], missing);
	graph_release(&g);
	return rc;
}
