/* SPDX-License-Identifier: Apache-2.0 */
#include "import/emit_state.h"

#include "import/sort.h"

#include <errno.h>

static void emit_release(struct emit *m)
{
	vec_release(&m->points);
	vec_release(&m->order);
	vec_release(&m->correlations);
	hash_release(&m->process_by_pid);
	vec_for_each(&m->sweeps, s)
		sweep_release(s);
	vec_release(&m->sweeps);
	vec_release(&m->heads);
	vec_release(&m->heap);
	strbuf_release(&m->text);
}

static int point(struct emit *m, int64_t time_ns, enum point_type type, size_t index)
{
	struct point p = { .time_ns = time_ns, .type = type, .index = (uint32_t)index };
	if (m->points.len >= UINT32_MAX)
		return -E2BIG;
	return vec_push(&m->points, p);
}

static int host_points(struct emit *m, size_t i)
{
	const struct host_event *e = &m->trace->host.data[i];
	uint32_t traits = frames_info(m->trace->frames, e->frame)->traits;

	if (e->kind == HOST_SCOPE)
		return point(m, e->start_ns, POINT_SCOPE, i);
	if (e->kind != HOST_CALL)
		return 0;
	if (traits & FRAME_LAUNCHES_GRAPH)
		return point(m, e->start_ns, POINT_GRAPH, i);
	return traits & FRAME_SYNCS ? point(m, e->start_ns, POINT_SYNC, i) : 0;
}

static bool point_before(const void *data, uint32_t a, uint32_t b)
{
	const struct point *points = data, *x = &points[a], *y = &points[b];

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns;
	/* A launch comes before its work, also where a clock says otherwise by rounding. */
	return x->type < y->type;
}

static int find_points(struct emit *m)
{
	struct trace *t = m->trace;
	int rc = 0;

	for (size_t i = 0; i < t->device.len && !rc; i++) {
		const struct device_event *d = &t->device.data[i];
		rc = point(m, emit_launch_time(t, d), POINT_LAUNCH, i);
		if (!rc)
			rc = point(m, d->start_ns, POINT_DISPATCH, i);
		if (!rc)
			rc = vec_push(&m->correlations, 0);
	}
	for (size_t i = 0; i < t->host.len && !rc; i++)
		rc = host_points(m, i);
	for (size_t i = 0; i < t->instants.len && !rc; i++)
		rc = point(m, t->instants.data[i].time_ns, POINT_INSTANT, i);
	for (size_t i = 0; i < t->counters.len && !rc; i++)
		rc = point(m, t->counters.data[i].time_ns, POINT_COUNTER, i);
	for (size_t i = 0; i < m->points.len && !rc; i++)
		rc = vec_push(&m->order, (uint32_t)i);
	return rc < 0 ? rc
		      : sort_numbers(m->order.data, m->order.len, point_before, m->points.data);
}

static int emit_point(struct emit *m, const struct point *p)
{
	switch ((enum point_type)p->type) {
	case POINT_LAUNCH:
		return emit_launch(m, p->index);
	case POINT_DISPATCH:
		return emit_dispatch(m, p->index);
	case POINT_GRAPH:
		return emit_graph_launch(m, p->index);
	case POINT_SYNC:
		return emit_sync(m, p->index);
	case POINT_SCOPE:
		return emit_scope(m, p->index);
	case POINT_INSTANT:
		return emit_instant(m, p->index);
	case POINT_COUNTER:
		return emit_counter(m, p->index);
	}
	return 0;
}

static int emit_all(struct emit *m)
{
	vec_for_each(&m->order, it) {
		const struct point *p = &m->points.data[*it];
		int rc = emit_spans_until(m, p->time_ns);
		if (!rc)
			rc = emit_point(m, p);
		if (rc < 0)
			return rc;
	}
	return emit_spans_until(m, INT64_MAX);
}

int emit_trace(struct session *s, struct trace *t, struct nest *n, const struct emit_paths *paths)
{
	struct emit m = { .session = s, .trace = t, .nest = n, .paths = paths };
	int rc = emit_definitions(&m);

	if (!rc)
		rc = find_points(&m);
	if (!rc)
		rc = emit_spans_start(&m);
	if (!rc)
		rc = emit_all(&m);
	emit_release(&m);
	return rc;
}
