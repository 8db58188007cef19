/* SPDX-License-Identifier: Apache-2.0 */
#include "import/absorb_parts.h"

#include "import/decimal.h"

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
int absorb_memory(struct absorb *a, const struct event *e, uint32_t lane)
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

int absorb_counter(struct absorb *a, const struct event *e)
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
		if (key.size && !text_same(key, &a->scratch)) {
			strbuf_putc(&a->scratch, ' ');
			strbuf_add(&a->scratch, key.data, key.size);
		}
		rc = absorb_scratch(a, &c.name);
		if (!rc)
			rc = vec_push(&a->trace->counters, c);
	}
	return rc;
}
