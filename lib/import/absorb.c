/* SPDX-License-Identifier: Apache-2.0 */
#include "import/absorb_parts.h"

#include "capture/record.h"
#include "import/decimal.h"
#include "import/iteration.h"
#include "import/pyname.h"

#include <errno.h>

void absorb_init(struct absorb *a, struct trace *trace)
{
	*a = (struct absorb){ .trace = trace };
}

void absorb_release(struct absorb *a)
{
	vec_release(&a->classes);
	strbuf_release(&a->last_pid);
	strbuf_release(&a->last_tid);
	hash_release(&a->stack_paths);
	hash_release(&a->python_lanes);
	strbuf_release(&a->scratch);
	strbuf_release(&a->joined);
}

int absorb_lane(struct absorb *a, struct span pid, struct span tid, uint32_t *ret)
{
	if (!a->has_last || !text_same(tid, &a->last_tid) || !text_same(pid, &a->last_pid)) {
		int rc = trace_lane(a->trace, pid, tid, &a->last_lane);
		if (rc < 0)
			return rc;
		strbuf_reset(&a->last_pid);
		strbuf_reset(&a->last_tid);
		strbuf_add(&a->last_pid, pid.data, pid.size);
		strbuf_add(&a->last_tid, tid.data, tid.size);
		a->has_last = true;
	}
	*ret = a->last_lane;
	return 0;
}

/*
 * Python functions of threads that torch does not know all have thread number 0. Their parents tell
 * the threads apart: one lane for each function without a parent.
 */
static int absorb_python_lane(struct absorb *a, const struct event *e, uint32_t *ret)
{
	uint64_t parent = e->numbers[EVENT_PYTHON_PARENT];
	const uint64_t *known =
		event_has(e, EVENT_PYTHON_PARENT) ? hash_get(&a->python_lanes, parent) : NULL;
	uint32_t lane;

	if (known) {
		lane = (uint32_t)*known;
	} else {
		char tid[32];
		int n = snprintf(tid, sizeof(tid), "python thread %u", ++a->python_roots);
		int rc = trace_lane(a->trace, event_text(e, EVENT_PID), span_of(tid, (size_t)n),
				    &lane);
		if (rc < 0)
			return rc;
	}
	*ret = lane;
	return hash_set(&a->python_lanes, e->numbers[EVENT_PYTHON_ID], lane);
}

static enum event_class absorb_class(struct absorb *a, const struct event *e, uint32_t category)
{
	while (a->classes.len <= category) {
		if (vec_push(&a->classes, 0) < 0)
			return CLASS_UNKNOWN;
	}
	uint8_t *class = &a->classes.data[category];
	if (!*class)
		*class = (uint8_t)(classify_category(event_text(e, EVENT_CATEGORY)) + 1);
	return (enum event_class)(*class - 1);
}

static int op_detail(struct absorb *a, const struct event *e, uint32_t *ret)
{
	struct strbuf *b = &a->scratch;

	strbuf_reset(b);
	absorb_put_text(b, "dims", event_text(e, EVENT_DIMS));
	absorb_put_text(b, "types", event_text(e, EVENT_TYPES));
	absorb_put_text(b, "scalars", event_text(e, EVENT_SCALARS));
	absorb_put_collective(b, e);
	if (!b->len) {
		*ret = 0;
		return 0;
	}
	absorb_put_text(b, "op", event_text(e, EVENT_NAME));
	return absorb_scratch(a, ret);
}

static enum object_kind object_of(enum event_class class, struct span name)
{
	struct pyname parsed;

	switch (class) {
	case CLASS_PYTHON:
		return OBJECT_PYTHON;
	case CLASS_OP:
		return OBJECT_OP;
	case CLASS_SCOPE:
		return OBJECT_SCOPE;
	case CLASS_CALL:
		return OBJECT_NATIVE;
	default:
		/* Other tracers of Python write its functions in the same forms. */
		return pyname_parse(name, &parsed) ? OBJECT_PYTHON : OBJECT_NATIVE;
	}
}

static enum host_kind host_kind_of(enum event_class class)
{
	switch (class) {
	case CLASS_PYTHON:
		return HOST_PYTHON;
	case CLASS_OP:
		return HOST_OP;
	case CLASS_SCOPE:
		return HOST_SCOPE;
	case CLASS_CALL:
		return HOST_CALL;
	default:
		return HOST_OTHER;
	}
}

static int absorb_sequence(struct absorb *a, const struct event *e, uint32_t id)
{
	/* -1 (as 2^64 - 1): not part of autograd's graph. */
	if (!event_has(e, EVENT_SEQUENCE) || (int64_t)e->numbers[EVENT_SEQUENCE] < 0)
		return 0;
	struct op_sequence s = {
		.event = id,
		.sequence = e->numbers[EVENT_SEQUENCE],
		.forward_thread = event_has(e, EVENT_FORWARD_THREAD)
					  ? (uint32_t)e->numbers[EVENT_FORWARD_THREAD]
					  : 0,
	};
	return vec_push(&a->trace->sequences, s);
}

static int absorb_host(struct absorb *a, const struct event *e, enum event_class class,
		       uint32_t lane)
{
	struct span name = event_text(e, EVENT_NAME);
	struct host_event h = {
		.start_ns = e->time_ns,
		.end_ns = e->time_ns + e->duration_ns,
		.lane = lane & 0x7ffffff,
		.kind = (unsigned)host_kind_of(class) & 0xf,
	};
	uint32_t id;
	int rc;

	if (!name.size)
		name = span_of("[unnamed]", strlen("[unnamed]"));
	struct span shown = name;
	if (class == CLASS_SCOPE)
		(void)iteration_parse(name, &shown);
	rc = frames_add(a->trace->frames, object_of(class, name), shown, &h.frame);
	if (rc < 0)
		return rc;
	if (class == CLASS_OP) {
		h.key = e->numbers[EVENT_EXTERNAL_ID] * event_has(e, EVENT_EXTERNAL_ID);
		rc = op_detail(a, e, &h.detail);
		if (!rc)
			rc = absorb_stack(a, e, false, &h.base);
	} else if (class == CLASS_CALL) {
		struct span kernel = event_text(e, EVENT_KERNEL_NAME);
		h.key = e->numbers[EVENT_CORRELATION] * event_has(e, EVENT_CORRELATION);
		rc = frames_string(a->trace->frames, kernel, &h.detail);
	} else if (class == CLASS_SCOPE) {
		rc = frames_string(a->trace->frames, name, &h.base);
		if (!rc)
			rc = op_detail(a, e, &h.detail);
	}
	if (rc < 0)
		return rc;

	if (e->phase == 'B') {
		h.has_order = 1;
		return trace_begin(a->trace, &h);
	}
	rc = trace_add_host(a->trace, &h, &id);
	if (rc < 0 || class != CLASS_OP)
		return rc;
	return absorb_sequence(a, e, id);
}

/* Whether the trace's metadata says that this process number stands for a device. */
static int is_device_pid(struct absorb *a, uint32_t lane, bool *ret)
{
	struct process_name *p;
	int rc = trace_process(a->trace, a->trace->lanes.data[lane].pid, &p);
	if (rc < 0)
		return rc;
	*ret = p->is_device;
	return 0;
}

static int absorb_span(struct absorb *a, struct event *e)
{
	struct span tid = event_text(e, EVENT_TID);
	uint32_t lane, category;
	int rc = absorb_lane(a, event_text(e, EVENT_PID), tid, &lane);
	if (!rc)
		rc = frames_string(a->trace->frames, event_text(e, EVENT_CATEGORY), &category);
	if (rc < 0)
		return rc;

	enum event_class class = absorb_class(a, e, category);
	if (class == CLASS_UNKNOWN) {
		bool is_device = false;
		rc = is_device_pid(a, lane, &is_device);
		if (rc < 0)
			return rc;
		class = classify_event(e, is_device);
	}
	switch (class) {
	case CLASS_SKIP:
	case CLASS_OVERHEAD:
		a->trace->skipped++;
		return 0;
	case CLASS_KERNEL:
	case CLASS_COPY:
	case CLASS_FILL:
	case CLASS_COLLECTIVE:
		return e->phase == 'X' ? absorb_device(a, e, class, lane)
				       : absorb_device_begin(a, e, class, lane);
	case CLASS_INSIDE:
		if (e->phase == 'X')
			return absorb_inside(a, e, lane);
		break;
	case CLASS_PYTHON:
		if (text_is(tid, "0")) {
			rc = absorb_python_lane(a, e, &lane);
			if (rc < 0)
				return rc;
		}
		break;
	default:
		break;
	}
	return absorb_host(a, e, class, lane);
}

static int absorb_metadata(struct absorb *a, const struct event *e)
{
	struct span name = event_text(e, EVENT_NAME), label = event_text(e, EVENT_LABEL);
	struct process_name *p;
	uint32_t lane, string;
	int rc = absorb_lane(a, event_text(e, EVENT_PID), event_text(e, EVENT_TID), &lane);
	if (!rc)
		rc = frames_string(a->trace->frames, label, &string);
	if (rc < 0 || !label.size)
		return rc;

	if (text_is(name, "thread_name")) {
		a->trace->lanes.data[lane].name = string;
		return 0;
	}
	rc = trace_process(a->trace, a->trace->lanes.data[lane].pid, &p);
	if (rc < 0)
		return rc;
	if (text_is(name, "process_name"))
		p->name = string;
	/* Kineto labels what is no device "CPU", devices by their kind: "GPU 0". */
	if (text_is(name, "process_labels"))
		p->is_device = !text_is(label, "CPU");
	return 0;
}

static int absorb_instant(struct absorb *a, const struct event *e)
{
	struct span name = event_text(e, EVENT_NAME);
	struct instant i = { .time_ns = e->time_ns };
	int rc = absorb_lane(a, event_text(e, EVENT_PID), event_text(e, EVENT_TID), &i.lane);
	if (rc < 0)
		return rc;
	if (text_is(name, "[memory]"))
		return absorb_memory(a, e, i.lane);
	rc = frames_string(a->trace->frames, name, &i.name);
	return rc < 0 ? rc : vec_push(&a->trace->instants, i);
}

static int absorb_flow(struct absorb *a, const struct event *e)
{
	struct span id = event_text(e, EVENT_ID), category = event_text(e, EVENT_CATEGORY);
	struct flow f = {
		.time_ns = e->time_ns,
		.is_start = e->phase == 's',
		.is_backward = text_is(category, "fwdbwd"),
	};

	if (decimal_u64(id, &f.id) < 0)
		f.id = hash_bytes(id.data, id.size);
	int rc = absorb_lane(a, event_text(e, EVENT_PID), event_text(e, EVENT_TID), &f.lane);
	return rc < 0 ? rc : vec_push(&a->trace->flows, f);
}

static int absorb_end(struct absorb *a, const struct event *e)
{
	uint32_t lane, name;
	int rc = absorb_lane(a, event_text(e, EVENT_PID), event_text(e, EVENT_TID), &lane);
	if (!rc)
		rc = frames_string(a->trace->frames, event_text(e, EVENT_NAME), &name);
	return rc < 0 ? rc : trace_end(a->trace, lane, name, e->time_ns);
}

/* A duration that no run can have is one that a profiler computed wrongly (ROCm's of 2023 wrapped
 * below zero): 300 years do not fit a trace, and their sum with the start has to fit 64 bits. */
static void check_duration(struct absorb *a, struct event *e)
{
	int64_t end;
	bool is_bad = e->has_bad_time || e->duration_ns < 0 ||
		      __builtin_add_overflow(e->time_ns, e->duration_ns, &end);
	if (!is_bad)
		return;
	a->trace->bad_times++;
	e->duration_ns = 0;
}

int absorb_event(struct absorb *a, struct event *e, const char **ret_why)
{
	a->trace->events++;
	if (!e->phase) {
		*ret_why = "an event without a phase (\"ph\")";
		return 1;
	}
	if (e->phase == 'M')
		return absorb_metadata(a, e);
	if (e->has_time && e->phase != 'M' && e->phase != 'f')
		trace_saw(a->trace, e->time_ns);
	if (!e->has_time && strchr("XBEiICstf", e->phase)) {
		*ret_why = "an event without a time (\"ts\")";
		return 1;
	}
	a->trace->is_exact |= e->is_time_exact;
	switch (e->phase) {
	case 'X':
		check_duration(a, e);
		return absorb_span(a, e);
	case 'B':
		return absorb_span(a, e);
	case 'E':
		return absorb_end(a, e);
	case 'i':
	case 'I':
		return absorb_instant(a, e);
	case 'C':
		return absorb_counter(a, e);
	case 's':
	case 'f':
		return absorb_flow(a, e);
	default:
		a->trace->skipped++;
		return 0;
	}
}
