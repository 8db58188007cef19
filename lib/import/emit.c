/* SPDX-License-Identifier: Apache-2.0 */
#include "import/emit.h"

#include "base/cleanup.h"
#include "import/decimal.h"
#include "import/iteration.h"
#include "import/sort.h"

#include <errno.h>
#include <string.h>

/* What else than a host span happens at one time. */
enum point_type {
	POINT_LAUNCH,
	POINT_DISPATCH,
	POINT_GRAPH, /* the call that launches one */
	POINT_SYNC,
	POINT_SCOPE,
	POINT_INSTANT,
	POINT_COUNTER,
};

struct point {
	int64_t time_ns;
	uint32_t index;
	uint32_t type; /* enum point_type */
};

struct emit {
	struct session *session;
	struct trace *trace;
	struct nest *nest;
	const struct emit_paths *paths;
	VEC(struct point) points;
	VEC(uint32_t) order;        /* of points */
	VEC(uint64_t) correlations; /* the capture's, by device event; given out as launches are */
	struct hash process_by_pid; /* pid (string) -> the capture's number */
	uint32_t only_pid;          /* string: of all lanes but those of "0", if it is one */
	VEC(struct sweep) sweeps;   /* of host lanes */
	VEC(struct span_ns) heads;  /* the next span of each */
	VEC(uint32_t) heap;         /* of sweeps, by their head's time */
	uint32_t main_process;
	struct strbuf text;
};

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

/* Clocks that start below zero are moved as a whole, see process.c; nothing is below it here. */
static uint64_t at(const struct emit *m, int64_t time_ns)
{
	return m->trace->base_ns + (uint64_t)time_ns;
}

static int put(struct emit *m, const struct record *rec)
{
	return capture_writer_put(m->session->writer, rec);
}

static int written(struct emit *m, uint32_t string, uint32_t *ret)
{
	return frames_written(&m->session->frames, m->session->writer, string, ret);
}

/* ---- processes, threads, devices, queues ---- */

static int emit_process(struct emit *m, uint32_t pid, uint32_t *ret)
{
	struct trace *t = m->trace;
	struct session *s = m->session;
	struct record rec = { .type = RECORD_PROCESS };
	struct process_name *name;
	uint64_t number;

	const uint64_t *known = hash_get(&m->process_by_pid, pid);
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	rec.process.id = ++s->processes;
	if (!decimal_u64(strtab_get(&s->frames.strings, pid), &number) && number <= UINT32_MAX)
		rec.process.pid = (uint32_t)number;
	rec.process.rank = t->rank ? t->rank : s->rank;
	int rc = trace_process(t, pid, &name);
	if (!rc)
		rc = written(m,
			     name->name        ? name->name
			     : rec.process.pid ? 0
					       : pid,
			     &rec.process.comm);
	if (!rc)
		rc = put(m, &rec);
	if (!rc)
		rc = hash_set(&m->process_by_pid, pid, rec.process.id);
	if (!m->main_process)
		m->main_process = rec.process.id;
	*ret = rec.process.id;
	return rc;
}

static bool is_no_pid(const struct trace *t, uint32_t pid)
{
	return !strcmp(strtab_text(&t->frames->strings, pid), "0");
}

/* Threads that torch has no number for are written with process 0: they are of the only process. */
static void find_only_pid(struct emit *m)
{
	vec_for_each(&m->trace->lanes, lane) {
		if (!lane->is_host || is_no_pid(m->trace, lane->pid))
			continue;
		if (m->only_pid && m->only_pid != lane->pid) {
			m->only_pid = 0;
			return;
		}
		m->only_pid = lane->pid;
	}
}

static int emit_threads(struct emit *m)
{
	struct trace *t = m->trace;

	vec_for_each(&t->lanes, lane) {
		struct record rec = { .type = RECORD_THREAD };
		uint64_t number;
		if (!lane->is_host)
			continue;
		uint32_t pid = m->only_pid && is_no_pid(t, lane->pid) ? m->only_pid : lane->pid;
		int rc = emit_process(m, pid, &rec.thread.process);
		if (rc < 0)
			return rc;
		rec.thread.id = ++m->session->threads;
		/* pthread_t's of 2022 are negative 32-bit numbers. */
		if (!decimal_u64(strtab_get(&t->frames->strings, lane->tid), &number) &&
		    number <= UINT32_MAX)
			rec.thread.tid = (uint32_t)number;
		rc = written(m,
			     lane->name       ? lane->name
			     : rec.thread.tid ? 0
					      : lane->tid,
			     &rec.thread.name);
		if (!rc)
			rc = put(m, &rec);
		if (rc < 0)
			return rc;
		lane->thread = rec.thread.id;
	}
	return 0;
}

static int emit_devices(struct emit *m)
{
	struct trace *t = m->trace;
	bool is_ranked = t->rank || m->session->rank;

	vec_for_each(&t->devices, d) {
		if (!d->is_used)
			continue;
		d->id = ++m->session->devices;
		struct record rec = {
			.type = RECORD_DEVICE,
			.device = {
				.id = d->id,
				.index = d->index,
				.units = d->units,
				.memory_bytes = d->memory_bytes,
				.process = is_ranked ? m->main_process : 0,
			},
		};
		int rc = written(m, d->name, &rec.device.name);
		if (!rc)
			rc = written(m, t->runtime, &rec.device.runtime);
		if (!rc)
			rc = put(m, &rec);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int emit_queues(struct emit *m)
{
	struct trace *t = m->trace;

	vec_for_each(&t->queues, q) {
		struct span stream = strtab_get(&t->frames->strings, q->stream);
		q->id = ++m->session->queues;
		struct record rec = {
			.type = RECORD_QUEUE,
			.queue = {
				.id = q->id,
				.device = t->devices.data[q->device].id,
				.process = m->main_process,
			},
		};
		strbuf_reset(&m->text);
		if (!decimal_u64(stream, &rec.queue.handle))
			strbuf_puts(&m->text, "stream ");
		strbuf_add(&m->text, stream.data, stream.size);
		int rc = capture_writer_string(m->session->writer, strbuf_text(&m->text),
					       &rec.queue.name);
		if (!rc)
			rc = put(m, &rec);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- points in time ---- */

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

static int64_t launch_time(const struct trace *t, const struct device_event *d)
{
	if (d->launch != TRACE_NONE)
		return t->host.data[d->launch].start_ns;
	/* Not known; no later than the work itself, and not before the trace. */
	return d->flags & LAUNCH_BEFORE_WINDOW ? t->first_ns : d->start_ns;
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
		rc = point(m, launch_time(t, d), POINT_LAUNCH, i);
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

/* ---- records of points ---- */

static uint32_t launch_kind(const struct device_event *d)
{
	switch (d->kind) {
	case DEVICE_COPY:
		return LAUNCH_COPY;
	case DEVICE_FILL:
		return LAUNCH_FILL;
	case DEVICE_COLLECTIVE:
		return LAUNCH_COLLECTIVE;
	case DEVICE_OTHER:
		return LAUNCH_OTHER;
	default:
		return LAUNCH_KERNEL;
	}
}

static bool is_copy(const struct device_event *d)
{
	return d->kind == DEVICE_COPY || d->kind == DEVICE_FILL;
}

/* The number of a correlation: that of the launch, whichever of the two records comes first. */
static uint64_t correlation(struct emit *m, uint32_t device)
{
	uint64_t *c = &m->correlations.data[device];
	if (!*c)
		*c = ++m->session->correlations;
	return *c;
}

/* What the work says of itself and what the op around its launch says, as one string. */
static int launch_metadata(struct emit *m, const struct device_event *d, uint32_t *ret)
{
	const struct trace *t = m->trace;
	uint32_t op = 0, joined;

	if (d->launch != TRACE_NONE) {
		const struct host_event *e = &t->host.data[d->launch];
		op = e->kind == HOST_CALL ? e->base : e->kind == HOST_OP ? e->detail : 0;
	}
	if (!op || !d->detail)
		return written(m, op ? op : d->detail, ret);
	strbuf_reset(&m->text);
	strbuf_puts(&m->text, strtab_text(&t->frames->strings, d->detail));
	strbuf_putc(&m->text, ';');
	strbuf_puts(&m->text, strtab_text(&t->frames->strings, op));
	int rc = strbuf_finish(&m->text);
	if (!rc)
		rc = frames_string(t->frames, span_of(strbuf_text(&m->text), m->text.len), &joined);
	return rc < 0 ? rc : written(m, joined, ret);
}

static void launch_geometry(const struct emit *m, const struct device_event *d,
			    struct record_launch *l)
{
	struct span s = strtab_get(&m->trace->frames->strings, d->geometry);
	if (s.size != sizeof(l->grid) + sizeof(l->block))
		return;
	memcpy(l->grid, s.data, sizeof(l->grid));
	memcpy(l->block, s.data + sizeof(l->grid), sizeof(l->block));
}

static int device_name(struct emit *m, const struct device_event *d, uint32_t *ret_kernel,
		       uint32_t *ret_name)
{
	if (is_copy(d))
		return written(m, d->name, ret_name);
	return session_kernel(m->session, d->name, d->facts, ret_kernel);
}

static int emit_launch(struct emit *m, uint32_t i)
{
	const struct trace *t = m->trace;
	const struct device_event *d = &t->device.data[i];
	struct record rec = {
		.type = RECORD_LAUNCH,
		.launch = {
			.time_ns = at(m, launch_time(t, d)),
			.kind = launch_kind(d),
			.queue = t->queues.data[d->queue].id,
			.correlation = correlation(m, i),
			.flags = d->flags,
			.bytes = d->bytes,
		},
	};
	uint32_t path = d->path;

	if (d->launch != TRACE_NONE) {
		const struct host_event *e = &t->host.data[d->launch];
		rec.launch.duration_ns = (uint64_t)(e->end_ns - e->start_ns);
		rec.launch.thread = t->lanes.data[e->lane].thread;
	}
	if (frames_traits(t->frames, path) & PATH_UNDER_FORWARD)
		rec.launch.flags |= LAUNCH_BACKWARD;
	if (d->flags & LAUNCH_BEFORE_WINDOW)
		path = m->paths->before_window;
	else if (path == PATH_EMPTY)
		path = m->paths->unknown;
	launch_geometry(m, d, &rec.launch);
	int rc = device_name(m, d, &rec.launch.kernel, &rec.launch.name);
	if (!rc)
		rc = launch_metadata(m, d, &rec.launch.metadata);
	if (!rc)
		rc = frames_stack(t->frames, m->session->writer, path, &rec.launch.stack);
	return rc < 0 ? rc : put(m, &rec);
}

static int emit_copy(struct emit *m, uint32_t i)
{
	const struct device_event *d = &m->trace->device.data[i];
	const struct trace_queue *q = &m->trace->queues.data[d->queue];
	struct record rec = {
		.type = RECORD_COPY,
		.copy = {
			.correlation = correlation(m, i),
			.device = m->trace->devices.data[q->device].id,
			.queue = q->id,
			.kind = launch_kind(d),
			.bytes = d->bytes,
			.start_ns = at(m, d->start_ns),
			.end_ns = at(m, d->end_ns),
		},
	};
	int rc = written(m, d->name, &rec.copy.name);
	return rc < 0 ? rc : put(m, &rec);
}

static int emit_dispatch(struct emit *m, uint32_t i)
{
	const struct device_event *d = &m->trace->device.data[i];
	const struct trace_queue *q = &m->trace->queues.data[d->queue];
	struct record rec = {
		.type = RECORD_DISPATCH,
		.dispatch = {
			.correlation = correlation(m, i),
			.device = m->trace->devices.data[q->device].id,
			.queue = q->id,
			.kind = launch_kind(d),
			.start_ns = at(m, d->start_ns),
			.end_ns = at(m, d->end_ns),
		},
	};
	if (is_copy(d))
		return emit_copy(m, i);
	int rc = device_name(m, d, &rec.dispatch.kernel, &rec.dispatch.name);
	if (!rc)
		rc = written(m, d->detail, &rec.dispatch.metadata);
	return rc < 0 ? rc : put(m, &rec);
}

static int emit_graph_launch(struct emit *m, uint32_t i)
{
	const struct trace *t = m->trace;
	const struct host_event *e = &t->host.data[i];
	struct record rec = {
		.type = RECORD_LAUNCH,
		.launch = {
			.time_ns = at(m, e->start_ns),
			.duration_ns = (uint64_t)(e->end_ns - e->start_ns),
			.thread = t->lanes.data[e->lane].thread,
			.kind = LAUNCH_GRAPH,
			.correlation = ++m->session->correlations,
		},
	};
	int rc = written(m, frames_info(t->frames, e->frame)->name, &rec.launch.name);
	if (!rc)
		rc = frames_stack(t->frames, m->session->writer, e->path, &rec.launch.stack);
	return rc < 0 ? rc : put(m, &rec);
}

static int emit_sync(struct emit *m, uint32_t i)
{
	const struct trace *t = m->trace;
	const struct host_event *e = &t->host.data[i];
	struct record rec = {
		.type = RECORD_SYNC,
		.sync = {
			.time_ns = at(m, e->start_ns),
			.duration_ns = (uint64_t)(e->end_ns - e->start_ns),
			.thread = t->lanes.data[e->lane].thread,
		},
	};
	int rc = written(m, frames_info(t->frames, e->frame)->name, &rec.sync.name);
	if (!rc)
		rc = frames_stack(t->frames, m->session->writer, e->path, &rec.sync.stack);
	return rc < 0 ? rc : put(m, &rec);
}

static int emit_scope(struct emit *m, uint32_t i)
{
	const struct trace *t = m->trace;
	const struct host_event *e = &t->host.data[i];
	uint32_t name = e->base;
	struct record rec = {
		.type = RECORD_MARK,
		.mark = {
			.time_ns = at(m, e->start_ns),
			.duration_ns = (uint64_t)(e->end_ns - e->start_ns),
			.thread = t->lanes.data[e->lane].thread,
			.kind = MARK_SPAN,
			.iteration = iteration_parse(strtab_get(&t->frames->strings, name), NULL),
		},
	};
	int rc = written(m, name, &rec.mark.name);
	if (!rc)
		rc = written(m, e->detail, &rec.mark.metadata);
	return rc < 0 ? rc : put(m, &rec);
}

static int emit_instant(struct emit *m, uint32_t i)
{
	const struct instant *it = &m->trace->instants.data[i];
	struct record rec = {
		.type = RECORD_MARK,
		.mark = {
			.time_ns = at(m, it->time_ns),
			.thread = m->trace->lanes.data[it->lane].thread,
			.kind = MARK_INSTANT,
		},
	};
	int rc = written(m, it->name, &rec.mark.name);
	return rc < 0 ? rc : put(m, &rec);
}

static int emit_counter(struct emit *m, uint32_t i)
{
	const struct counter *c = &m->trace->counters.data[i];
	const struct lane *lane = &m->trace->lanes.data[c->lane];
	struct record rec = {
		.type = RECORD_COUNTER,
		.counter = {
			.time_ns = at(m, c->time_ns),
			.value = c->value,
			.address = c->address,
			.thread = lane->thread,
			.device = c->device ? m->trace->devices.data[c->device - 1].id : 0,
			.process = m->main_process,
		},
	};
	int rc = written(m, c->name, &rec.counter.name);
	if (!rc)
		rc = written(m, c->unit, &rec.counter.unit);
	return rc < 0 ? rc : put(m, &rec);
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

/* ---- host spans, from all lanes in order of time ---- */

static bool head_before(const struct emit *m, uint32_t a, uint32_t b)
{
	int64_t x = m->heads.data[a].start_ns, y = m->heads.data[b].start_ns;
	return x != y ? x < y : a < b;
}

static void heap_down(struct emit *m, size_t i)
{
	uint32_t *heap = m->heap.data;

	for (size_t child; (child = 2 * i + 1) < m->heap.len; i = child) {
		if (child + 1 < m->heap.len && head_before(m, heap[child + 1], heap[child]))
			child++;
		if (!head_before(m, heap[child], heap[i]))
			break;
		uint32_t swap = heap[i];
		heap[i] = heap[child];
		heap[child] = swap;
	}
}

static int start_sweeps(struct emit *m)
{
	for (uint32_t lane = 0; lane < m->trace->lanes.len; lane++) {
		struct sweep sweep;
		struct span_ns head = { 0 };
		if (!m->trace->lanes.data[lane].is_host)
			continue;
		sweep_init(&sweep, m->nest, lane);
		if (vec_push(&m->sweeps, sweep) < 0)
			return -ENOMEM;
		int rc = sweep_next(vec_last(&m->sweeps), &head);
		if (rc < 0)
			return rc;
		if (vec_push(&m->heads, head) < 0)
			return -ENOMEM;
		if (rc > 0 && vec_push(&m->heap, (uint32_t)m->heads.len - 1) < 0)
			return -ENOMEM;
	}
	for (size_t i = m->heap.len / 2; i--;)
		heap_down(m, i);
	return 0;
}

/* The span at the top of the heap becomes a record; its lane moves on. */
static int emit_span(struct emit *m)
{
	uint32_t id = m->heap.data[0];
	struct sweep *s = &m->sweeps.data[id];
	struct span_ns *head = &m->heads.data[id];
	struct record rec = {
		.type = RECORD_CPU_SAMPLE,
		.cpu_sample = {
			.time_ns = at(m, head->start_ns),
			.weight = (uint64_t)(head->end_ns - head->start_ns),
			.thread = m->trace->lanes.data[s->lane].thread,
			.flags = CPU_SAMPLE_SPAN,
		},
	};
	int rc = frames_stack(m->trace->frames, m->session->writer, head->path,
			      &rec.cpu_sample.stack);
	if (!rc)
		rc = put(m, &rec);
	if (rc < 0)
		return rc;
	m->session->trust->host_spans++;
	rc = sweep_next(s, head);
	if (rc < 0)
		return rc;
	if (!rc)
		m->heap.data[0] = m->heap.data[--m->heap.len];
	heap_down(m, 0);
	return 0;
}

static int emit_all(struct emit *m)
{
	vec_for_each(&m->order, it) {
		const struct point *p = &m->points.data[*it];
		while (m->heap.len && m->heads.data[m->heap.data[0]].start_ns <= p->time_ns) {
			int rc = emit_span(m);
			if (rc < 0)
				return rc;
		}
		int rc = emit_point(m, p);
		if (rc < 0)
			return rc;
	}
	while (m->heap.len) {
		int rc = emit_span(m);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int emit_trace(struct session *s, struct trace *t, struct nest *n, const struct emit_paths *paths)
{
	struct emit m = { .session = s, .trace = t, .nest = n, .paths = paths };
	find_only_pid(&m);
	int rc = emit_threads(&m);
	if (!rc)
		rc = emit_devices(&m);
	if (!rc)
		rc = emit_queues(&m);
	if (!rc)
		rc = find_points(&m);
	if (!rc)
		rc = start_sweeps(&m);
	if (!rc)
		rc = emit_all(&m);
	emit_release(&m);
	return rc;
}
