/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/queueing.h"

#include "analyze/filter.h"
#include "analyze/sort.h"

#include <errno.h>

/* A launch and when its work began and ended. */
struct piece {
	uint64_t launched_ns, start_ns, end_ns;
	bool on_idle;
};

struct edge {
	uint64_t time_ns;
	bool is_end;
};

struct device_run {
	struct analysis *a;
	const struct filter *f;
	uint32_t device; /* row */
	struct window window;
	VEC(struct piece) pieces; /* by start */
	VEC(struct edge) edges;   /* of the queue, by time */
	VEC(uint64_t) latencies;
};

static void run_release(struct device_run *r)
{
	vec_release(&r->pieces);
	vec_release(&r->edges);
	vec_release(&r->latencies);
}

static int ignore_charge(void *data, const struct charge *charge)
{
	(void)data;
	(void)charge;
	return 0;
}

/* -ENOENT: it has no work in its window. */
static int find_window(struct analysis *a, const struct filter *f, uint32_t device,
		       struct window *ret)
{
	const struct account_sink sink = { .charge = ignore_charge, .queues = f->queues };
	struct window given = { f->begin_ns, f->end_ns, f->source };
	struct account_totals totals;
	struct account *acc = account_of(a);
	if (!acc)
		return -ENOMEM;
	int rc = account_device(acc, device, f->has_time ? &given : NULL, &sink, &totals);
	if (!rc)
		*ret = totals.window;
	return rc;
}

static int collect_pieces(struct device_run *r)
{
	struct analysis *a = r->a;
	uint64_t busy_until = 0;
	vec_for_each(&a->ops, op) {
		const struct launch *l = analysis_op_launch(a, op);
		if (op->device != r->device || !r->f->queue_passes[op->queue])
			continue;
		if (l && analysis_launch_is_seen(a, l) && r->f->name_passes[op->name] &&
		    filter_site(r->f, &a->sites.data[l->site])) {
			/* Clocks may disagree by a little: no work begins before its launch. */
			uint64_t launched = l->time_ns < op->start_ns ? l->time_ns : op->start_ns;
			struct piece p = { launched, op->start_ns, op->end_ns,
					   launched >= busy_until };
			if (vec_push(&r->pieces, p) < 0)
				return -ENOMEM;
		}
		busy_until = op->end_ns > busy_until ? op->end_ns : busy_until;
	}
	return 0;
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return y->is_end - x->is_end; /* what ends makes room first */
}

static int collect_edges(struct device_run *r)
{
	vec_for_each(&r->pieces, p) {
		if (vec_push(&r->edges, (struct edge){ p->launched_ns, false }) < 0 ||
		    vec_push(&r->edges, (struct edge){ p->end_ns, true }) < 0)
			return -ENOMEM;
	}
	if (r->edges.len)
		qsort(r->edges.data, r->edges.len, sizeof(*r->edges.data), compare_edges);
	return 0;
}

/* The queue between two moments. */
static void sum_depth(const struct device_run *r, struct queue_slice *s)
{
	uint64_t depth = 0, now = s->begin_ns;
	for (size_t i = 0; i <= r->edges.len; i++) {
		uint64_t time = i < r->edges.len ? r->edges.data[i].time_ns : s->end_ns;
		uint64_t until = time < s->end_ns ? time : s->end_ns;
		if (until > now) {
			s->depth_ns += depth * (until - now);
			s->idle_ns += depth ? 0 : until - now;
			s->depth_max = depth > s->depth_max ? depth : s->depth_max;
			now = until;
		}
		if (time >= s->end_ns)
			return;
		depth += r->edges.data[i].is_end ? UINT64_MAX : 1;
	}
}

static int sum_slice(struct device_run *r, struct queue_slice *s)
{
	r->latencies.len = 0;
	vec_for_each(&r->pieces, p) {
		bool is_last = s->end_ns == r->window.end_ns && p->launched_ns == s->end_ns;
		if (p->launched_ns < s->begin_ns || (p->launched_ns >= s->end_ns && !is_last))
			continue;
		s->launches++;
		if (!p->on_idle)
			continue;
		s->on_idle++;
		if (vec_push(&r->latencies, p->start_ns - p->launched_ns) < 0)
			return -ENOMEM;
	}
	spread_of(r->latencies.data, r->latencies.len, &s->latency);
	sum_depth(r, s);
	return 0;
}

static int sum_device(struct device_run *r, size_t parts, struct queue_slice *ret)
{
	uint64_t length = r->window.end_ns - r->window.begin_ns;
	int rc = collect_pieces(r);
	rc = rc ? rc : collect_edges(r);
	for (size_t i = 0; i <= parts && !rc; i++) {
		bool is_whole = i == parts;
		unsigned __int128 wide = length;
		ret[i] = (struct queue_slice){
			.device = r->a->devices.data[r->device].index,
			.is_whole = is_whole,
			.begin_ns =
				r->window.begin_ns + (is_whole ? 0 : (uint64_t)(wide * i / parts)),
			.end_ns = r->window.begin_ns +
				  (is_whole ? length : (uint64_t)(wide * (i + 1) / parts)),
		};
		rc = sum_slice(r, &ret[i]);
	}
	return rc;
}

int analysis_queueing(struct analysis *a, const struct analysis_filter *filter, size_t parts,
		      struct queue_slice **ret, size_t *ret_count, struct err *err)
{
	struct filter f = { 0 };
	size_t count = 0;
	int rc = filter_init(&f, a, filter, err);
	if (rc < 0)
		return rc;
	CLEANUP_FREE struct queue_slice *list = calloc(a->devices.len * (parts + 1), sizeof(*list));
	rc = list ? 0 : -ENOMEM;
	for (uint32_t d = 0; d < a->devices.len && a->has_timeline && !rc; d++) {
		struct device_run run = { .a = a, .f = &f, .device = d };
		if (!f.device_passes[d])
			continue;
		rc = find_window(a, &f, d, &run.window);
		if (rc == -ENOENT) {
			rc = 0;
			continue;
		}
		rc = rc ? rc : sum_device(&run, parts, list + count);
		if (!rc)
			count += parts + 1;
		run_release(&run);
	}
	filter_release(&f);
	if (rc < 0)
		return err_set(err, rc, "cannot follow the queues");
	*ret = TAKE(list);
	*ret_count = count;
	return 0;
}

/* ---- what goes on at once ---- */

/* Work of one kind, cut to the window, without overlaps among itself. */
struct spans {
	VEC(struct edge) list; /* begin, end, begin, end, ... */
};

static enum overlap_part part_of(const struct op *op)
{
	switch (op->kind) {
	case LAUNCH_COPY:
	case LAUNCH_FILL:
		return OVERLAP_COPY;
	case LAUNCH_COLLECTIVE:
		return OVERLAP_COMMUNICATION;
	default:
		return OVERLAP_COMPUTE;
	}
}

/* Ops come by their start. */
static int spans_add(struct spans *s, uint64_t begin_ns, uint64_t end_ns)
{
	struct edge *last = s->list.len ? vec_last(&s->list) : NULL;
	if (last && begin_ns <= last->time_ns) {
		last->time_ns = end_ns > last->time_ns ? end_ns : last->time_ns;
		return 0;
	}
	if (vec_push(&s->list, (struct edge){ begin_ns, false }) < 0)
		return -ENOMEM;
	return vec_push(&s->list, (struct edge){ end_ns, true });
}

static int collect_spans(struct analysis *a, const struct filter *f, uint32_t device,
			 const struct window *w, struct spans parts[OVERLAP_PARTS])
{
	int rc = 0;
	vec_for_each(&a->ops, op) {
		uint64_t begin = op->start_ns > w->begin_ns ? op->start_ns : w->begin_ns;
		uint64_t end = op->end_ns < w->end_ns ? op->end_ns : w->end_ns;
		if (op->device != device || !f->queue_passes[op->queue] || begin >= end ||
		    !f->name_passes[op->name])
			continue;
		rc = spans_add(&parts[part_of(op)], begin, end);
		if (rc < 0)
			break;
	}
	return rc;
}

/* The three lists walked together: an odd number of edges passed is inside. */
static void sum_overlap(const struct spans parts[OVERLAP_PARTS], const struct window *w,
			struct overlap *ret)
{
	static const enum overlap_part kinds[] = { OVERLAP_COMPUTE, OVERLAP_COPY,
						   OVERLAP_COMMUNICATION };
	size_t at[ARRAY_SIZE(kinds)] = { 0 };
	uint64_t now = w->begin_ns;

	while (now < w->end_ns) {
		uint64_t next = w->end_ns;
		unsigned inside = 0;
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
			const struct spans *s = &parts[kinds[k]];
			while (at[k] < s->list.len && s->list.data[at[k]].time_ns <= now)
				at[k]++;
			if (at[k] < s->list.len && s->list.data[at[k]].time_ns < next)
				next = s->list.data[at[k]].time_ns;
			inside |= at[k] % 2 ? kinds[k] : 0;
		}
		ret->ns[inside] += next - now;
		now = next;
	}
}

int analysis_overlap(struct analysis *a, const struct analysis_filter *filter, struct overlap **ret,
		     size_t *ret_count, struct err *err)
{
	struct filter f = { 0 };
	size_t count = 0;
	int rc = filter_init(&f, a, filter, err);
	if (rc < 0)
		return rc;
	CLEANUP_FREE struct overlap *list = calloc(a->devices.len, sizeof(*list));
	rc = list ? 0 : -ENOMEM;
	for (uint32_t d = 0; d < a->devices.len && a->has_timeline && !rc; d++) {
		struct spans parts[OVERLAP_PARTS] = { 0 };
		struct window window;
		if (!f.device_passes[d])
			continue;
		rc = find_window(a, &f, d, &window);
		if (rc == -ENOENT) {
			rc = 0;
			continue;
		}
		rc = rc ? rc : collect_spans(a, &f, d, &window, parts);
		if (!rc) {
			list[count].device = a->devices.data[d].index;
			sum_overlap(parts, &window, &list[count++]);
		}
		for (size_t i = 0; i < OVERLAP_PARTS; i++)
			vec_release(&parts[i].list);
	}
	filter_release(&f);
	if (rc < 0)
		return err_set(err, rc, "cannot find what overlaps");
	*ret = TAKE(list);
	*ret_count = count;
	return 0;
}
