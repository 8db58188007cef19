/* SPDX-License-Identifier: Apache-2.0 */
#include "import/emit_state.h"

#include <errno.h>

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

int emit_spans_start(struct emit *m)
{
	for (uint32_t lane = 0; lane < m->trace->lanes.len; lane++) {
		struct sweep sweep;
		struct span_ns head = { 0 };
		if (!m->trace->lanes.data[lane].is_host && !m->trace->lanes.data[lane].is_inside)
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

/* What a warp did becomes samples of its kernel, one for each nanosecond. */
static int emit_inside(struct emit *m, const struct span_ns *span)
{
	struct frames *f = m->trace->frames;
	uint32_t device = m->trace->host.data[span->event].detail;
	const struct device_event *d = &m->trace->device.data[device];
	struct record rec = {
		.type = RECORD_PC_SAMPLE,
		.pc_sample = {
			.time_ns = emit_time(m, span->start_ns),
			.interval_ns = (uint64_t)(span->end_ns - span->start_ns),
			.count = (uint64_t)(span->end_ns - span->start_ns),
			.device = m->trace->devices.data[m->trace->queues.data[d->queue].device].id,
			.correlation = emit_correlation(m, device),
		},
	};
	uint32_t frame = m->trace->host.data[span->event].frame;
	int rc = session_kernel(m->session, d->name, d->facts, &rec.pc_sample.kernel);
	if (!rc)
		rc = emit_string(m, frames_info(f, frame)->name, &rec.pc_sample.function);
	return rc < 0 ? rc : emit_put(m, &rec);
}

static int emit_host_span(struct emit *m, uint32_t lane, const struct span_ns *span)
{
	struct record rec = {
		.type = RECORD_CPU_SAMPLE,
		.cpu_sample = {
			.time_ns = emit_time(m, span->start_ns),
			.weight = (uint64_t)(span->end_ns - span->start_ns),
			.thread = m->trace->lanes.data[lane].thread,
			.flags = CPU_SAMPLE_SPAN,
		},
	};
	int rc = frames_stack(m->trace->frames, m->session->writer, span->path,
			      &rec.cpu_sample.stack);
	m->session->trust->host_spans++;
	return rc < 0 ? rc : emit_put(m, &rec);
}

/* The span at the top of the heap becomes a record; its lane moves on. */
static int emit_span(struct emit *m)
{
	uint32_t id = m->heap.data[0];
	struct sweep *s = &m->sweeps.data[id];
	struct span_ns *head = &m->heads.data[id];
	bool is_inside = m->trace->host.data[head->event].kind == HOST_INSIDE;
	int rc = is_inside ? emit_inside(m, head) : emit_host_span(m, s->lane, head);
	if (rc < 0)
		return rc;
	rc = sweep_next(s, head);
	if (rc < 0)
		return rc;
	if (!rc)
		m->heap.data[0] = m->heap.data[--m->heap.len];
	heap_down(m, 0);
	return 0;
}

int emit_spans_until(struct emit *m, int64_t time_ns)
{
	while (m->heap.len && m->heads.data[m->heap.data[0]].start_ns <= time_ns) {
		int rc = emit_span(m);
		if (rc < 0)
			return rc;
	}
	return 0;
}
