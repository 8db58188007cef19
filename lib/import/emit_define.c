/* SPDX-License-Identifier: Apache-2.0 */
#include "import/emit_state.h"

#include "import/decimal.h"

#include <string.h>

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
		rc = emit_string(m,
				 name->name        ? name->name
				 : rec.process.pid ? 0
						   : pid,
				 &rec.process.comm);
	if (!rc)
		rc = emit_put(m, &rec);
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
		rc = emit_string(m,
				 lane->name       ? lane->name
				 : rec.thread.tid ? 0
						  : lane->tid,
				 &rec.thread.name);
		if (!rc)
			rc = emit_put(m, &rec);
		if (rc < 0)
			return rc;
		lane->thread = rec.thread.id;
	}
	return 0;
}

/*
 * The one kind of device that the trace tells of; NULL: of none, or of several. HIP counts the
 * devices that work is on otherwise than those it tells of.
 */
static const struct trace_device *only_kind(const struct trace *t)
{
	const struct trace_device *kind = NULL;
	vec_for_each(&t->devices, d) {
		if (!d->name)
			continue;
		if (kind && (d->name != kind->name || d->units != kind->units))
			return NULL;
		kind = d;
	}
	return kind;
}

static int emit_devices(struct emit *m)
{
	struct trace *t = m->trace;
	const struct trace_device *kind = only_kind(t);
	bool is_ranked = t->rank || m->session->rank;

	vec_for_each(&t->devices, d) {
		if (!d->is_used)
			continue;
		if (!d->name && kind) {
			d->name = kind->name;
			d->units = kind->units;
			d->memory_bytes = kind->memory_bytes;
		}
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
		int rc = emit_string(m, d->name, &rec.device.name);
		if (!rc)
			rc = emit_string(m, t->runtime, &rec.device.runtime);
		if (!rc)
			rc = emit_put(m, &rec);
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
			rc = emit_put(m, &rec);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int emit_definitions(struct emit *m)
{
	find_only_pid(m);
	int rc = emit_threads(m);
	if (!rc)
		rc = emit_devices(m);
	return rc < 0 ? rc : emit_queues(m);
}
