/* SPDX-License-Identifier: Apache-2.0 */
#include "import/absorb.h"

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

static bool same(struct span a, const struct strbuf *b)
{
	return a.size == b->len && (!a.size || !memcmp(a.data, b->data, a.size));
}

static bool text_is(struct span a, const char *b)
{
	return a.size == strlen(b) && !memcmp(a.data, b, a.size);
}

static int absorb_lane(struct absorb *a, struct span pid, struct span tid, uint32_t *ret)
{
	if (!a->has_last || !same(tid, &a->last_tid) || !same(pid, &a->last_pid)) {
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

/* ---- metadata of launches: "key=value;..." ---- */

static void put_fact(struct strbuf *b, const char *key, struct span value)
{
	if (!value.size)
		return;
	if (b->len)
		strbuf_putc(b, ';');
	strbuf_puts(b, key);
	strbuf_putc(b, '=');
	bool is_quoted = false;
	for (size_t i = 0; i < value.size; i++) {
		char c = (char)value.data[i];
		is_quoted ^= c == '"';
		if ((c == ' ' || c == '\n') && !is_quoted && value.data[0] == '[')
			continue; /* layout of the JSON */
		strbuf_putc(b, c == ';' ? ',' : c);
	}
}

static void put_number(struct strbuf *b, const struct event *e, const char *key,
		       enum event_key number)
{
	if (!event_has(e, number))
		return;
	strbuf_printf(b, "%s%s=%llu", b->len ? ";" : "", key,
		      (unsigned long long)e->numbers[number]);
}

static void put_collective(struct strbuf *b, const struct event *e)
{
	put_fact(b, "collective", event_text(e, EVENT_COLLECTIVE));
	put_fact(b, "group", event_text(e, EVENT_GROUP_NAME));
	put_fact(b, "group-size", event_text(e, EVENT_GROUP_SIZE));
	put_fact(b, "sequence", event_text(e, EVENT_GROUP_SEQUENCE));
	put_fact(b, "elements-in", event_text(e, EVENT_IN_ELEMENTS));
	put_fact(b, "elements-out", event_text(e, EVENT_OUT_ELEMENTS));
	put_fact(b, "dtype", event_text(e, EVENT_DTYPE));
}

static int scratch_string(struct absorb *a, uint32_t *ret)
{
	if (strbuf_finish(&a->scratch) < 0)
		return -ENOMEM;
	return frames_string(a->trace->frames, span_of(strbuf_text(&a->scratch), a->scratch.len),
			     ret);
}

static int op_detail(struct absorb *a, const struct event *e, uint32_t *ret)
{
	struct strbuf *b = &a->scratch;

	strbuf_reset(b);
	put_fact(b, "dims", event_text(e, EVENT_DIMS));
	put_fact(b, "types", event_text(e, EVENT_TYPES));
	put_fact(b, "scalars", event_text(e, EVENT_SCALARS));
	put_collective(b, e);
	if (!b->len) {
		*ret = 0;
		return 0;
	}
	put_fact(b, "op", event_text(e, EVENT_NAME));
	return scratch_string(a, ret);
}

/* ---- stacks that an event brings along ---- */

static int path_add(struct frames *f, uint32_t *path, struct span text)
{
	struct pyname name;
	uint32_t frame;
	enum object_kind kind = text.size && (text.data[0] == '<' || pyname_parse(text, &name))
					? OBJECT_PYTHON
					: OBJECT_SCOPE;
	int rc = frames_add(f, kind, text, &frame);
	return rc < 0 ? rc : frames_path(f, *path, frame, path);
}

/* Kineto's of 2021-22: functions joined by ';', the innermost first. */
static int path_of_text(struct frames *f, struct span text, uint32_t *ret)
{
	const char *start = (const char *)text.data, *end = start + text.size;

	*ret = PATH_EMPTY;
	while (end > start) {
		const char *p = memrchr(start, ';', (size_t)(end - start));
		const char *from = p ? p + 1 : start;
		if (from < end) {
			int rc = path_add(f, ret, span_of(from, (size_t)(end - from)));
			if (rc < 0)
				return rc;
		}
		end = p ? p : start;
	}
	return 0;
}

/*
 * Proton's: an array from the root on, joined by '\n' here. @leaf is the event's own name: the
 * array ends in it, and it is no part of what called it.
 */
static int path_of_array(struct frames *f, struct span text, struct span leaf, uint32_t *ret)
{
	const char *p = (const char *)text.data, *end = p + text.size;

	*ret = PATH_EMPTY;
	while (p < end) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		if (!stop)
			stop = end;
		struct span part = span_of(p, (size_t)(stop - p));
		bool is_leaf = stop == end && part.size == leaf.size &&
			       !memcmp(part.data, leaf.data, leaf.size);
		if (part.size && !is_leaf && !text_is(part, "ROOT")) {
			int rc = path_add(f, ret, part);
			if (rc < 0)
				return rc;
		}
		p = stop + 1;
	}
	return 0;
}

static int stack_path(struct absorb *a, const struct event *e, bool has_leaf, uint32_t *ret)
{
	struct span text = event_text(e, EVENT_CALL_STACK);
	struct frames *f = a->trace->frames;
	uint32_t string;

	*ret = PATH_EMPTY;
	if (!text.size)
		return 0;
	if (e->has_stack_array)
		return path_of_array(f, text, has_leaf ? event_text(e, EVENT_NAME) : span_of("", 0),
				     ret);
	int rc = frames_string(f, text, &string);
	if (rc < 0)
		return rc;
	const uint64_t *known = hash_get(&a->stack_paths, string);
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	rc = path_of_text(f, text, ret);
	return rc < 0 ? rc : hash_set(&a->stack_paths, string, *ret);
}

/* ---- host events ---- */

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
		.lane = lane & 0xfffffff,
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
			rc = stack_path(a, e, false, &h.base);
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

	if (e->phase == 'B')
		return trace_begin(a->trace, &h);
	rc = trace_add_host(a->trace, &h, &id);
	if (rc < 0 || class != CLASS_OP)
		return rc;
	return absorb_sequence(a, e, id);
}

/* ---- device events ---- */

static int absorb_queue(struct absorb *a, const struct event *e, uint32_t *ret)
{
	struct span stream = event_text(e, EVENT_STREAM);
	uint64_t index = 0;
	uint32_t device;

	if (event_has(e, EVENT_DEVICE))
		index = e->numbers[EVENT_DEVICE];
	else if (decimal_u64(event_text(e, EVENT_PID), &index) < 0)
		index = 0;
	int rc = trace_device(a->trace, (uint32_t)index, &device);
	if (rc < 0)
		return rc;
	return trace_queue(a->trace, device, stream.size ? stream : event_text(e, EVENT_TID), ret);
}

static int device_texts(struct absorb *a, const struct event *e, struct device_event *d)
{
	struct span name = event_text(e, EVENT_NAME);
	uint32_t geometry[6];
	int rc;

	if (!name.size)
		name = span_of("[unnamed]", strlen("[unnamed]"));
	rc = frames_string(a->trace->frames, name, &d->name);
	if (rc < 0)
		return rc;
	memcpy(geometry, e->grid, sizeof(e->grid));
	memcpy(geometry + 3, e->block, sizeof(e->block));
	if (geometry[0] || geometry[3]) {
		rc = frames_string(a->trace->frames, span_of(geometry, sizeof(geometry)),
				   &d->geometry);
		if (rc < 0)
			return rc;
	}

	strbuf_reset(&a->scratch);
	put_collective(&a->scratch, e);
	put_fact(&a->scratch, "occupancy", event_text(e, EVENT_OCCUPANCY));
	put_number(&a->scratch, e, "graph", EVENT_GRAPH_ID);
	rc = scratch_string(a, &d->detail);
	if (rc < 0)
		return rc;
	strbuf_reset(&a->scratch);
	put_number(&a->scratch, e, "registers", EVENT_REGISTERS);
	put_number(&a->scratch, e, "shared", EVENT_SHARED_MEMORY);
	return scratch_string(a, &d->facts);
}

static enum device_kind device_kind_of(enum event_class class, const struct event *e)
{
	if (event_text(e, EVENT_COLLECTIVE).size)
		return DEVICE_COLLECTIVE;
	switch (class) {
	case CLASS_COPY:
		return DEVICE_COPY;
	case CLASS_FILL:
		return DEVICE_FILL;
	case CLASS_COLLECTIVE:
		return DEVICE_COLLECTIVE;
	default:
		return DEVICE_KERNEL;
	}
}

static int absorb_device(struct absorb *a, const struct event *e, enum event_class class,
			 uint32_t lane)
{
	struct device_event d = {
		.start_ns = e->time_ns,
		.end_ns = e->time_ns + e->duration_ns,
		.kind = (uint8_t)device_kind_of(class, e),
		.lane = lane,
		.launch = TRACE_NONE,
	};
	int rc = absorb_queue(a, e, &d.queue);
	if (rc < 0)
		return rc;
	if (event_has(e, EVENT_CORRELATION))
		d.correlation = e->numbers[EVENT_CORRELATION];
	if (event_has(e, EVENT_EXTERNAL_ID))
		d.external_id = e->numbers[EVENT_EXTERNAL_ID];
	if (event_has(e, EVENT_BYTES))
		d.bytes = e->numbers[EVENT_BYTES];
	rc = device_texts(a, e, &d);
	if (!rc)
		rc = stack_path(a, e, true, &d.path);
	if (rc < 0)
		return rc;
	if (d.path)
		d.link = LINK_STACK;
	return trace_add_device(a->trace, &d);
}

/* Flex writes the work of its devices as B and E. */
static int absorb_device_begin(struct absorb *a, const struct event *e, enum event_class class,
			       uint32_t lane)
{
	struct host_event h = {
		.start_ns = e->time_ns,
		.lane = lane & 0xfffffff,
		.kind = HOST_DEVICE,
		.base = device_kind_of(class, e),
	};
	int rc = absorb_queue(a, e, &h.detail);
	if (!rc)
		rc = frames_add(a->trace->frames, OBJECT_NATIVE, event_text(e, EVENT_NAME),
				&h.frame);
	return rc < 0 ? rc : trace_begin(a->trace, &h);
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

/* ---- the rest ---- */

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

static int add_counter(struct absorb *a, const struct counter *c, const char *name,
		       const char *unit)
{
	struct counter copy = *c;
	int rc = frames_string(a->trace->frames, span_of(name, strlen(name)), &copy.name);
	if (!rc)
		rc = frames_string(a->trace->frames, span_of(unit, strlen(unit)), &copy.unit);
	return rc < 0 ? rc : vec_push(&a->trace->counters, copy);
}

/* What an allocator did: how much, and how much there is now. */
static int absorb_memory(struct absorb *a, const struct event *e, uint32_t lane)
{
	struct counter c = { .time_ns = e->time_ns, .lane = lane };
	int rc = 0;

	/* PyTorch's DeviceType: 0 is the CPU, whose "Device Id" is -1. */
	if (e->numbers[EVENT_DEVICE_TYPE] && event_has(e, EVENT_DEVICE_TYPE) &&
	    event_has(e, EVENT_DEVICE_ID)) {
		rc = trace_device(a->trace, (uint32_t)e->numbers[EVENT_DEVICE_ID], &c.device);
		if (rc < 0)
			return rc;
		a->trace->devices.data[c.device++].is_used = true;
	}
	c.address = event_has(e, EVENT_ADDRESS) ? e->numbers[EVENT_ADDRESS] : 0;
	if (!rc && event_has(e, EVENT_BYTES)) {
		c.value = (double)(int64_t)e->numbers[EVENT_BYTES];
		rc = add_counter(a, &c, "memory", "bytes");
	}
	c.address = 0;
	if (!rc && event_has(e, EVENT_TOTAL_ALLOCATED)) {
		c.value = (double)(int64_t)e->numbers[EVENT_TOTAL_ALLOCATED];
		rc = add_counter(a, &c, "memory allocated", "bytes");
	}
	if (!rc && event_has(e, EVENT_TOTAL_RESERVED)) {
		c.value = (double)(int64_t)e->numbers[EVENT_TOTAL_RESERVED];
		rc = add_counter(a, &c, "memory reserved", "bytes");
	}
	return rc;
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

static int absorb_counter(struct absorb *a, const struct event *e)
{
	struct span name = event_text(e, EVENT_NAME);
	struct counter c = { .time_ns = e->time_ns };
	int rc = absorb_lane(a, event_text(e, EVENT_PID), event_text(e, EVENT_TID), &c.lane);

	for (size_t i = 0; i < e->values.len && !rc; i++) {
		const struct event_value *v = &e->values.data[i];
		struct span key = span_of(e->pool.data + v->key, v->key_size);
		if (decimal_double(span_of(e->pool.data + v->value, v->value_size), &c.value) < 0)
			continue;
		strbuf_reset(&a->scratch);
		strbuf_add(&a->scratch, name.data, name.size);
		if (key.size && !same(key, &a->scratch)) {
			strbuf_putc(&a->scratch, ' ');
			strbuf_add(&a->scratch, key.data, key.size);
		}
		rc = scratch_string(a, &c.name);
		if (!rc)
			rc = vec_push(&a->trace->counters, c);
	}
	return rc;
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
