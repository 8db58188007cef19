/* SPDX-License-Identifier: Apache-2.0 */
#include "import/emit_state.h"

#include <string.h>

int64_t emit_launch_time(const struct trace *t, const struct device_event *d)
{
	if (d->launch != TRACE_NONE)
		return t->host.data[d->launch].start_ns;
	/* Not known; no later than the work itself, and not before the trace. */
	return d->flags & LAUNCH_BEFORE_WINDOW ? t->first_ns : d->start_ns;
}

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
uint64_t emit_correlation(struct emit *m, uint32_t device)
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
		return emit_string(m, op ? op : d->detail, ret);
	strbuf_reset(&m->text);
	strbuf_puts(&m->text, strtab_text(&t->frames->strings, d->detail));
	strbuf_putc(&m->text, ';');
	strbuf_puts(&m->text, strtab_text(&t->frames->strings, op));
	int rc = strbuf_finish(&m->text);
	if (!rc)
		rc = frames_string(t->frames, span_of(strbuf_text(&m->text), m->text.len), &joined);
	return rc < 0 ? rc : emit_string(m, joined, ret);
}

/* These calls of HIP are given the grid in work items, as OpenCL's are, and traces keep that. */
static bool counts_items(const struct trace *t, const struct device_event *d)
{
	if (d->launch == TRACE_NONE)
		return false;
	const struct host_event *e = &t->host.data[d->launch];
	struct span name = strtab_get(&t->frames->strings, frames_info(t->frames, e->frame)->name);
	static const char call[] = "ExtModuleLaunchKernel"; /* of hip, hcc */
	return memmem(name.data, name.size, call, strlen(call));
}

static void launch_geometry(const struct emit *m, const struct device_event *d,
			    struct record_launch *l)
{
	struct span s = strtab_get(&m->trace->frames->strings, d->geometry);
	if (s.size != sizeof(l->grid) + sizeof(l->block))
		return;
	memcpy(l->grid, s.data, sizeof(l->grid));
	memcpy(l->block, s.data + sizeof(l->grid), sizeof(l->block));
	bool is_items = counts_items(m->trace, d);
	for (int i = 0; i < 3 && is_items; i++) {
		if (l->block[i])
			l->grid[i] = l->grid[i] / l->block[i] + (l->grid[i] % l->block[i] != 0);
	}
}

static int device_name(struct emit *m, const struct device_event *d, uint32_t *ret_kernel,
		       uint32_t *ret_name)
{
	if (is_copy(d))
		return emit_string(m, d->name, ret_name);
	return session_kernel(m->session, d->name, d->facts, ret_kernel);
}

int emit_launch(struct emit *m, uint32_t i)
{
	const struct trace *t = m->trace;
	const struct device_event *d = &t->device.data[i];
	struct record rec = {
		.type = RECORD_LAUNCH,
		.launch = {
			.time_ns = emit_time(m, emit_launch_time(t, d)),
			.kind = launch_kind(d),
			.queue = t->queues.data[d->queue].id,
			.correlation = emit_correlation(m, i),
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
	return rc < 0 ? rc : emit_put(m, &rec);
}

static int emit_copy(struct emit *m, uint32_t i)
{
	const struct device_event *d = &m->trace->device.data[i];
	const struct trace_queue *q = &m->trace->queues.data[d->queue];
	struct record rec = {
		.type = RECORD_COPY,
		.copy = {
			.correlation = emit_correlation(m, i),
			.device = m->trace->devices.data[q->device].id,
			.queue = q->id,
			.kind = launch_kind(d),
			.bytes = d->bytes,
			.start_ns = emit_time(m, d->start_ns),
			.end_ns = emit_time(m, d->end_ns),
		},
	};
	int rc = emit_string(m, d->name, &rec.copy.name);
	return rc < 0 ? rc : emit_put(m, &rec);
}

int emit_dispatch(struct emit *m, uint32_t i)
{
	const struct device_event *d = &m->trace->device.data[i];
	const struct trace_queue *q = &m->trace->queues.data[d->queue];
	struct record rec = {
		.type = RECORD_DISPATCH,
		.dispatch = {
			.correlation = emit_correlation(m, i),
			.device = m->trace->devices.data[q->device].id,
			.queue = q->id,
			.kind = launch_kind(d),
			.start_ns = emit_time(m, d->start_ns),
			.end_ns = emit_time(m, d->end_ns),
		},
	};
	if (is_copy(d))
		return emit_copy(m, i);
	int rc = device_name(m, d, &rec.dispatch.kernel, &rec.dispatch.name);
	if (!rc)
		rc = emit_string(m, d->detail, &rec.dispatch.metadata);
	return rc < 0 ? rc : emit_put(m, &rec);
}
