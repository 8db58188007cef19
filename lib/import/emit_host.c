/* SPDX-License-Identifier: Apache-2.0 */
#include "import/emit_state.h"

#include "import/iteration.h"

int emit_graph_launch(struct emit *m, uint32_t i)
{
	const struct trace *t = m->trace;
	const struct host_event *e = &t->host.data[i];
	struct record rec = {
		.type = RECORD_LAUNCH,
		.launch = {
			.time_ns = emit_time(m, e->start_ns),
			.duration_ns = (uint64_t)(e->end_ns - e->start_ns),
			.thread = t->lanes.data[e->lane].thread,
			.kind = LAUNCH_GRAPH,
			.correlation = ++m->session->correlations,
		},
	};
	int rc = emit_string(m, frames_info(t->frames, e->frame)->name, &rec.launch.name);
	if (!rc)
		rc = frames_stack(t->frames, m->session->writer, e->path, &rec.launch.stack);
	return rc < 0 ? rc : emit_put(m, &rec);
}

int emit_sync(struct emit *m, uint32_t i)
{
	const struct trace *t = m->trace;
	const struct host_event *e = &t->host.data[i];
	struct record rec = {
		.type = RECORD_SYNC,
		.sync = {
			.time_ns = emit_time(m, e->start_ns),
			.duration_ns = (uint64_t)(e->end_ns - e->start_ns),
			.thread = t->lanes.data[e->lane].thread,
		},
	};
	int rc = emit_string(m, frames_info(t->frames, e->frame)->name, &rec.sync.name);
	if (!rc)
		rc = frames_stack(t->frames, m->session->writer, e->path, &rec.sync.stack);
	return rc < 0 ? rc : emit_put(m, &rec);
}

int emit_scope(struct emit *m, uint32_t i)
{
	const struct trace *t = m->trace;
	const struct host_event *e = &t->host.data[i];
	uint32_t name = e->base;
	struct record rec = {
		.type = RECORD_MARK,
		.mark = {
			.time_ns = emit_time(m, e->start_ns),
			.duration_ns = (uint64_t)(e->end_ns - e->start_ns),
			.thread = t->lanes.data[e->lane].thread,
			.kind = MARK_SPAN,
			.iteration = iteration_parse(strtab_get(&t->frames->strings, name), NULL),
		},
	};
	int rc = emit_string(m, name, &rec.mark.name);
	if (!rc)
		rc = emit_string(m, e->detail, &rec.mark.metadata);
	return rc < 0 ? rc : emit_put(m, &rec);
}

int emit_instant(struct emit *m, uint32_t i)
{
	const struct instant *it = &m->trace->instants.data[i];
	struct record rec = {
		.type = RECORD_MARK,
		.mark = {
			.time_ns = emit_time(m, it->time_ns),
			.thread = m->trace->lanes.data[it->lane].thread,
			.kind = MARK_INSTANT,
		},
	};
	int rc = emit_string(m, it->name, &rec.mark.name);
	return rc < 0 ? rc : emit_put(m, &rec);
}

int emit_counter(struct emit *m, uint32_t i)
{
	const struct counter *c = &m->trace->counters.data[i];
	const struct lane *lane = &m->trace->lanes.data[c->lane];
	struct record rec = {
		.type = RECORD_COUNTER,
		.counter = {
			.time_ns = emit_time(m, c->time_ns),
			.value = c->value,
			.address = c->address,
			.thread = lane->thread,
			.device = c->device ? m->trace->devices.data[c->device - 1].id : 0,
			.process = m->main_process,
		},
	};
	int rc = emit_string(m, c->name, &rec.counter.name);
	if (!rc)
		rc = emit_string(m, c->unit, &rec.counter.unit);
	return rc < 0 ? rc : emit_put(m, &rec);
}
