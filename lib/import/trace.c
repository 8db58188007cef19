/* SPDX-License-Identifier: Apache-2.0 */
#include "import/trace.h"

#include <errno.h>

/* How far B and E events of one lane are searched for each other: deeper than any call stack. */
#define PAIR_SEARCH_MAX 1024

/* Until its end is seen. */
#define END_OPEN INT64_MIN

void trace_init(struct trace *t, struct frames *frames)
{
	*t = (struct trace){ .frames = frames, .first_ns = INT64_MAX, .last_ns = INT64_MIN };
}

void trace_release(struct trace *t)
{
	vec_for_each(&t->lanes, lane) {
		vec_release(&lane->open);
		vec_release(&lane->loose);
		vec_release(&lane->order);
	}
	vec_release(&t->host);
	vec_release(&t->device);
	vec_release(&t->flows);
	vec_release(&t->sequences);
	vec_release(&t->instants);
	vec_release(&t->counters);
	vec_release(&t->lanes);
	vec_release(&t->loose_ends);
	vec_release(&t->devices);
	vec_release(&t->queues);
	vec_release(&t->processes);
	vec_release(&t->facts);
	hash_release(&t->lane_by_name);
	hash_release(&t->device_by_index);
	hash_release(&t->queue_by_name);
	hash_release(&t->process_by_pid);
	hash_release(&t->kernel_inside);
	hash_release(&t->forward_of);
}

int trace_lane(struct trace *t, struct span pid, struct span tid, uint32_t *ret)
{
	struct lane lane = { 0 };
	int rc = frames_string(t->frames, pid, &lane.pid);
	if (!rc)
		rc = frames_string(t->frames, tid, &lane.tid);
	if (rc < 0)
		return rc;
	const uint64_t *known = hash_get(&t->lane_by_name, hash_pair(lane.pid, lane.tid));
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	uint32_t id = (uint32_t)t->lanes.len;
	if (vec_push(&t->lanes, lane) < 0 ||
	    hash_set(&t->lane_by_name, hash_pair(lane.pid, lane.tid), id) < 0)
		return -ENOMEM;
	*ret = id;
	return 0;
}

int trace_device(struct trace *t, uint32_t index, uint32_t *ret)
{
	const uint64_t *known = hash_get(&t->device_by_index, index);
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	uint32_t id = (uint32_t)t->devices.len;
	if (vec_push(&t->devices, (struct trace_device){ .index = index }) < 0 ||
	    hash_set(&t->device_by_index, index, id) < 0)
		return -ENOMEM;
	*ret = id;
	return 0;
}

int trace_queue(struct trace *t, uint32_t device, struct span stream, uint32_t *ret)
{
	struct trace_queue queue = { .device = device };
	int rc = frames_string(t->frames, stream, &queue.stream);
	if (rc < 0)
		return rc;
	const uint64_t *known = hash_get(&t->queue_by_name, hash_pair(device, queue.stream));
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	uint32_t id = (uint32_t)t->queues.len;
	if (vec_push(&t->queues, queue) < 0 ||
	    hash_set(&t->queue_by_name, hash_pair(device, queue.stream), id) < 0)
		return -ENOMEM;
	*ret = id;
	return 0;
}

int trace_process(struct trace *t, uint32_t pid, struct process_name **ret)
{
	const uint64_t *known = hash_get(&t->process_by_pid, pid);
	if (!known) {
		if (hash_set(&t->process_by_pid, pid, t->processes.len) < 0 ||
		    vec_push(&t->processes, (struct process_name){ .pid = pid }) < 0)
			return -ENOMEM;
		known = hash_get(&t->process_by_pid, pid);
	}
	*ret = &t->processes.data[*known];
	return 0;
}

int trace_fact(struct trace *t, const char *key, struct span value)
{
	struct trace_fact fact;
	int rc = frames_string(t->frames, span_of(key, strlen(key)), &fact.key);
	if (!rc)
		rc = frames_string(t->frames, value, &fact.value);
	if (rc < 0)
		return rc;
	return vec_push(&t->facts, fact);
}

void trace_saw(struct trace *t, int64_t time_ns)
{
	if (time_ns < t->first_ns)
		t->first_ns = time_ns;
	if (time_ns > t->last_ns)
		t->last_ns = time_ns;
}

int trace_add_host(struct trace *t, const struct host_event *e, uint32_t *ret)
{
	if (t->host.len >= TRACE_EVENTS_MAX)
		return -E2BIG;
	struct lane *lane = &t->lanes.data[e->lane];
	uint32_t id = (uint32_t)t->host.len;
	if (e->kind != HOST_DEVICE) {
		if (vec_push(&lane->order, id) < 0)
			return -ENOMEM;
		lane->is_inside |= e->kind == HOST_INSIDE;
		lane->is_host |= e->kind != HOST_INSIDE;
	}
	if (vec_push(&t->host, *e) < 0)
		return -ENOMEM;
	t->has_device_spans |= e->kind == HOST_DEVICE;
	trace_saw(t, e->start_ns);
	if (e->end_ns != END_OPEN)
		trace_saw(t, e->end_ns);
	*ret = id;
	return 0;
}

int trace_add_device(struct trace *t, const struct device_event *e)
{
	if (t->device.len >= TRACE_EVENTS_MAX)
		return -E2BIG;
	t->devices.data[t->queues.data[e->queue].device].is_used = true;
	trace_saw(t, e->start_ns);
	trace_saw(t, e->end_ns);
	return vec_push(&t->device, *e);
}

int trace_kernel_inside(struct trace *t, const struct device_event *e, uint32_t *ret)
{
	const uint64_t *known = hash_get(&t->kernel_inside, e->name);
	uint32_t id = (uint32_t)t->device.len;

	if (known) {
		struct device_event *kernel = &t->device.data[*known];
		if (e->start_ns < kernel->start_ns)
			kernel->start_ns = e->start_ns;
		if (e->end_ns > kernel->end_ns)
			kernel->end_ns = e->end_ns;
		*ret = (uint32_t)*known;
		return 0;
	}
	int rc = trace_add_device(t, e);
	if (!rc)
		rc = hash_set(&t->kernel_inside, e->name, id);
	*ret = id;
	return rc;
}

static uint32_t event_name(const struct trace *t, uint32_t event)
{
	const struct host_event *e = &t->host.data[event];
	return e->kind == HOST_SCOPE ? e->base : t->frames->infos.data[e->frame].name;
}

static void event_close(struct trace *t, uint32_t event, int64_t time_ns)
{
	struct host_event *e = &t->host.data[event];
	if (time_ns < e->start_ns) {
		t->bad_times++;
		time_ns = e->start_ns;
	}
	e->end_ns = time_ns;
	trace_saw(t, time_ns);
}

int trace_begin(struct trace *t, const struct host_event *e)
{
	struct host_event begun = *e;
	struct lane *lane = &t->lanes.data[e->lane];
	uint32_t id;

	begun.end_ns = END_OPEN;
	int rc = trace_add_host(t, &begun, &id);
	if (rc < 0)
		return rc;

	/* Its end may have come first: tracers that sort by time put equal times in any order. */
	size_t tries = 0;
	for (size_t i = lane->loose.len; i-- && tries++ < PAIR_SEARCH_MAX;) {
		struct loose_end *end = &t->loose_ends.data[lane->loose.data[i]];
		if (end->name != event_name(t, id) || end->time_ns < e->start_ns)
			continue;
		event_close(t, id, end->time_ns);
		lane->loose.data[i] = *vec_last(&lane->loose);
		lane->loose.len--;
		return 0;
	}
	return vec_push(&lane->open, id);
}

int trace_end(struct trace *t, uint32_t lane_id, uint32_t name, int64_t time_ns)
{
	struct lane *lane = &t->lanes.data[lane_id];
	size_t tries = 0;

	/* The innermost of that name; without a name the innermost. */
	for (size_t i = lane->open.len; i-- && tries++ < PAIR_SEARCH_MAX;) {
		uint32_t event = lane->open.data[i];
		if (name && event_name(t, event) != name)
			continue;
		event_close(t, event, time_ns);
		memmove(&lane->open.data[i], &lane->open.data[i + 1],
			(lane->open.len - i - 1) * sizeof(*lane->open.data));
		lane->open.len--;
		return 0;
	}
	uint32_t id = (uint32_t)t->loose_ends.len;
	if (vec_push(&t->loose_ends, (struct loose_end){ time_ns, name }) < 0)
		return -ENOMEM;
	return vec_push(&lane->loose, id);
}

/* Ends of another name than any beginning: the innermost beginning takes the last of them. */
static void lane_pair_rest(struct trace *t, struct lane *lane)
{
	t->unpaired += lane->loose.len > lane->open.len ? lane->loose.len : lane->open.len;
	while (lane->open.len) {
		uint32_t event = lane->open.data[--lane->open.len];
		int64_t end_ns = t->last_ns;
		if (lane->loose.len)
			end_ns = t->loose_ends.data[lane->loose.data[--lane->loose.len]].time_ns;
		event_close(t, event, end_ns);
	}
	lane->loose.len = 0;
}

static int device_from_span(struct trace *t, const struct host_event *h)
{
	struct device_event d = {
		.start_ns = h->start_ns,
		.end_ns = h->end_ns,
		.kind = (uint8_t)h->base,
		.queue = h->detail,
		.lane = h->lane,
		.name = t->frames->infos.data[h->frame].name,
		.launch = TRACE_NONE,
	};
	return trace_add_device(t, &d);
}

int trace_finish(struct trace *t)
{
	vec_for_each(&t->lanes, lane)
		lane_pair_rest(t, lane);
	for (size_t i = 0; t->has_device_spans && i < t->host.len; i++) {
		if (t->host.data[i].kind != HOST_DEVICE)
			continue;
		int rc = device_from_span(t, &t->host.data[i]);
		if (rc < 0)
			return rc;
	}
	if (t->first_ns > t->last_ns)
		t->first_ns = t->last_ns = 0;
	return 0;
}
