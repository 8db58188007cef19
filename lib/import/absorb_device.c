/* SPDX-License-Identifier: Apache-2.0 */
#include "import/absorb_parts.h"

#include "capture/record.h"
#include "import/decimal.h"

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
	absorb_put_collective(&a->scratch, e);
	absorb_put_text(&a->scratch, "occupancy", event_text(e, EVENT_OCCUPANCY));
	absorb_put_number(&a->scratch, e, "graph", EVENT_GRAPH_ID);
	rc = absorb_scratch(a, &d->detail);
	if (rc < 0)
		return rc;
	strbuf_reset(&a->scratch);
	absorb_put_number(&a->scratch, e, "registers", EVENT_REGISTERS);
	absorb_put_number(&a->scratch, e, "shared", EVENT_SHARED_MEMORY);
	return absorb_scratch(a, &d->facts);
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

int absorb_device(struct absorb *a, const struct event *e, enum event_class class, uint32_t lane)
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
		rc = absorb_stack(a, e, true, &d.path);
	if (rc < 0)
		return rc;
	if (d.path)
		d.link = LINK_STACK;
	return trace_add_device(a->trace, &d);
}

/* Flex writes the work of its devices as B and E. */
int absorb_device_begin(struct absorb *a, const struct event *e, enum event_class class,
			uint32_t lane)
{
	struct host_event h = {
		.start_ns = e->time_ns,
		.lane = lane & 0x7ffffff,
		.kind = HOST_DEVICE,
		.base = device_kind_of(class, e),
	};
	int rc = absorb_queue(a, e, &h.detail);
	if (!rc)
		rc = frames_add(a->trace->frames, OBJECT_NATIVE, event_text(e, EVENT_NAME),
				&h.frame);
	return rc < 0 ? rc : trace_begin(a->trace, &h);
}

/* Proton's instrumentation: scopes inside of a kernel, by processor, block and warp. The kernel itself
 * is not in such a trace: it lasts from the first of its parts to the last. */
int absorb_inside(struct absorb *a, const struct event *e, uint32_t lane)
{
	struct host_event h = {
		.start_ns = e->time_ns,
		.end_ns = e->time_ns + e->duration_ns,
		.lane = lane & 0x7ffffff,
		.kind = HOST_INSIDE,
	};
	struct device_event d = {
		.start_ns = h.start_ns,
		.end_ns = h.end_ns,
		.kind = DEVICE_KERNEL,
		.lane = lane,
		.launch = TRACE_NONE,
	};
	static const char queue[] = "all processors";
	uint32_t device, id;
	int rc = trace_device(a->trace, 0, &device);
	if (!rc)
		rc = trace_queue(a->trace, device, span_of(queue, sizeof(queue) - 1), &d.queue);
	if (!rc)
		rc = frames_string(a->trace->frames, event_text(e, EVENT_CATEGORY), &d.name);
	if (!rc)
		rc = absorb_stack(a, e, false, &d.path);
	if (rc < 0)
		return rc;
	d.link = d.path ? LINK_STACK : LINK_NONE;
	rc = trace_kernel_inside(a->trace, &d, &h.detail);
	if (!rc)
		rc = frames_add(a->trace->frames, OBJECT_NATIVE, event_text(e, EVENT_NAME),
				&h.frame);
	return rc < 0 ? rc : trace_add_host(a->trace, &h, &id);
}
