/* SPDX-License-Identifier: Apache-2.0 */
#include "import/link.h"

#include "capture/record.h"

#include <errno.h>

struct links {
	struct hash calls;  /* correlation -> host event */
	struct hash ops;    /* "External id" -> host event */
	struct hash starts; /* id of an arrow -> flow */
	struct hash ends;   /* (lane, time) of an arrow's end -> flow */
	struct hash begins; /* (lane, time) -> host event that begins there */
};

static void links_release(struct links *l)
{
	hash_release(&l->calls);
	hash_release(&l->ops);
	hash_release(&l->starts);
	hash_release(&l->ends);
	hash_release(&l->begins);
}

/* A launch may be two calls with one number, of the runtime and of the driver below it: the one
 * that launches by its name, else the first. */
static int index_calls(const struct trace *t, struct hash *h)
{
	const uint32_t launches = FRAME_LAUNCHES | FRAME_LAUNCHES_GRAPH;

	for (size_t i = 0; i < t->host.len; i++) {
		const struct host_event *e = &t->host.data[i];
		if (e->kind != HOST_CALL || !e->key)
			continue;
		const uint64_t *known = hash_get(h, e->key);
		if (known &&
		    !(frames_info(t->frames, e->frame)->traits & launches &&
		      !(frames_info(t->frames, t->host.data[*known].frame)->traits & launches)))
			continue;
		if (hash_set(h, e->key, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int index_ops(const struct trace *t, struct hash *h)
{
	for (size_t i = 0; i < t->host.len; i++) {
		const struct host_event *e = &t->host.data[i];
		if (e->kind == HOST_OP && e->key && hash_set(h, e->key, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

static uint64_t place_key(uint32_t lane, int64_t time_ns)
{
	return hash_u64((uint64_t)time_ns) ^ ((uint64_t)lane << 44);
}

static int index_flows(const struct trace *t, struct links *l)
{
	for (size_t i = 0; i < t->flows.len; i++) {
		const struct flow *f = &t->flows.data[i];
		if (f->is_backward)
			continue;
		int rc = f->is_start ? hash_set(&l->starts, f->id, i)
				     : hash_set(&l->ends, place_key(f->lane, f->time_ns), i);
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; i < t->host.len && l->starts.len; i++) {
		const struct host_event *e = &t->host.data[i];
		if (hash_set(&l->begins, place_key(e->lane, e->start_ns), i) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void link_to(struct trace *t, struct device_event *d, uint32_t host, enum device_link how)
{
	d->launch = host;
	if (d->link == LINK_STACK)
		return;
	d->link = (uint8_t)how;
	d->path = t->host.data[host].path;
}

static bool link_by_flow(struct trace *t, const struct links *l, struct device_event *d)
{
	const uint64_t *end = hash_get(&l->ends, place_key(d->lane, d->start_ns));
	const uint64_t *start = end ? hash_get(&l->starts, t->flows.data[*end].id) : NULL;
	if (!start)
		return false;
	const struct flow *f = &t->flows.data[*start];
	const uint64_t *host = hash_get(&l->begins, place_key(f->lane, f->time_ns));
	if (!host)
		return false;
	link_to(t, d, (uint32_t)*host, LINK_FLOW);
	return true;
}

static bool is_linked(const struct device_event *d)
{
	return d->launch != TRACE_NONE;
}

static bool link_by_number(struct trace *t, const struct hash *h, uint64_t number,
			   struct device_event *d, enum device_link how)
{
	const uint64_t *host = number ? hash_get(h, number) : NULL;
	if (!host)
		return false;
	link_to(t, d, (uint32_t)*host, how);
	return true;
}

/* How NCCL and RCCL name all their kernels, and what libraries have beside them: symmetric memory of
 * PyTorch, custom all-reduces of vLLM, SGLang and TensorRT-LLM. */
static bool is_collective_name(struct span name)
{
	static const char *const parts[] = { "multimem_all_",       "one_shot_all_reduce",
					     "two_shot_all_reduce", "cross_device_reduce",
					     "allReduceKernel",     "oneShotAllReduce" };
	if (name.size > 4 && !memcmp(name.data, "nccl", 4))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (memmem(name.data, name.size, parts[i], strlen(parts[i])))
			return true;
	}
	return false;
}

/*
 * Collectives say so in their own arguments since 2023. Before that it is the annotation or op around
 * their launch that tells, and where that is not known, their names.
 */
static void mark_collectives(struct trace *t)
{
	vec_for_each(&t->device, d) {
		struct span name = strtab_get(&t->frames->strings, d->name);
		if (d->kind == DEVICE_KERNEL &&
		    (is_collective_name(name) ||
		     frames_traits(t->frames, d->path) & FRAME_IS_COLLECTIVE))
			d->kind = DEVICE_COLLECTIVE;
	}
}

int link_devices(struct trace *t)
{
	struct links l = { 0 };
	size_t missing = 0;
	int rc = index_calls(t, &l.calls);

	if (!rc) {
		vec_for_each(&t->device, d)
			missing +=
				!link_by_number(t, &l.calls, d->correlation, d, LINK_CORRELATION);
	}
	hash_release(&l.calls);
	if (!rc && missing)
		rc = index_ops(t, &l.ops);
	if (!rc && missing) {
		vec_for_each(&t->device, d) {
			if (!is_linked(d))
				missing -= link_by_number(t, &l.ops, d->external_id, d,
							  LINK_EXTERNAL_ID);
		}
	}
	hash_release(&l.ops);
	if (!rc && missing && t->flows.len)
		rc = index_flows(t, &l);
	if (!rc && missing && l.starts.len) {
		vec_for_each(&t->device, d) {
			if (!is_linked(d))
				(void)link_by_flow(t, &l, d);
		}
	}
	links_release(&l);
	if (!rc)
		mark_collectives(t);
	return rc;
}

/*
 * Correlation numbers count up: one below the first call's is of a call before the trace. Without
 * numbers, a queue works in order: what comes before its first work of a known launch.
 */
int link_before_window(struct trace *t)
{
	VEC(int64_t) first_linked = { 0 }; /* by queue */
	uint64_t first_number = UINT64_MAX;

	for (size_t i = 0; i < t->queues.len; i++) {
		if (vec_push(&first_linked, INT64_MAX) < 0) {
			vec_release(&first_linked);
			return -ENOMEM;
		}
	}
	vec_for_each(&t->host, e) {
		if (e->kind == HOST_CALL && e->key && e->key < first_number)
			first_number = e->key;
	}
	vec_for_each(&t->device, d) {
		if (is_linked(d) && d->start_ns < first_linked.data[d->queue])
			first_linked.data[d->queue] = d->start_ns;
	}
	vec_for_each(&t->device, d) {
		if (is_linked(d) || d->link != LINK_NONE || first_number == UINT64_MAX)
			continue;
		if (d->correlation ? d->correlation < first_number
				   : d->start_ns < first_linked.data[d->queue])
			d->flags |= LAUNCH_BEFORE_WINDOW;
	}
	vec_release(&first_linked);
	return 0;
}
