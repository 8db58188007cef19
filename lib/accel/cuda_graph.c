/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs. What is called on a stream that is captured, and what is added to a graph by name, is kept
 * with its stack, and does not run; what runs later is the launch of an executable graph that was made
 * of it. From outside, a stream that joins a capture by waiting for an event of it is not known to be
 * captured; the library inside knows.
 */
#include "accel/cuda.h"

#include "inject/message.h"

#include <errno.h>
#include <string.h>

static int set_bounded(struct hash *h, uint64_t key, uint64_t value, size_t max)
{
	if (h->len >= max && !hash_get(h, key))
		hash_release(h);
	return hash_set(h, key, value);
}

static uint64_t number_of(const struct hash *h, uint64_t key)
{
	uint64_t *known = hash_get(h, key);

	return known ? *known : 0;
}

/* The number of a graph, from now on if it has none. */
static int graph_number(struct cuda *c, struct cuda_process *p, uint64_t handle, uint64_t *ret)
{
	*ret = number_of(&p->graphs, handle);
	if (*ret)
		return 0;
	*ret = c->host.number(c->host.data);
	return handle ? set_bounded(&p->graphs, handle, *ret, CUDA_GRAPHS_MAX) : 0;
}

uint64_t cuda_graph_number(const struct cuda_process *p, uint64_t handle)
{
	return number_of(&p->graphs, handle);
}

uint64_t cuda_captured_into(const struct cuda_process *p, uint64_t stream)
{
	return p->capturing.len ? number_of(&p->capturing, stream) : 0;
}

/* Value 1 is a graph that is there already; 0: a new one is made. */
int cuda_capture_begins(struct cuda *c, struct cuda_process *p, const struct accel_event *e)
{
	uint64_t number;
	int rc = graph_number(c, p, e->value[1], &number);

	if (rc == 0)
		rc = set_bounded(&p->capturing, cuda_stream(e, e->value[0]), number,
				 CUDA_GRAPHS_MAX);
	return rc;
}

int cuda_capture_ends(struct cuda_process *p, const struct accel_event *e)
{
	uint64_t stream = cuda_stream(e, e->value[0]);
	uint64_t number = number_of(&p->capturing, stream);

	hash_remove(&p->capturing, stream);
	if (!number || !e->value[2] || (uint32_t)e->value[3] != 0)
		return 0;
	return set_bounded(&p->graphs, e->value[2], number, CUDA_GRAPHS_MAX);
}

int cuda_graph_copied(struct cuda_process *p, const struct accel_event *e)
{
	uint64_t number = number_of(&p->graphs, e->value[1]);

	if (!number || !e->value[2] || (uint32_t)e->value[3] != 0)
		return 0;
	return set_bounded(&p->graphs, e->value[2], number, CUDA_GRAPHS_MAX);
}

/* Readers know it as what stands between the launch of a graph and what was recorded. */
static int put_replay_object(struct cuda *c)
{
	struct record_object object = { .kind = OBJECT_MISSING };
	struct record_frame frame = { 0 };
	uint32_t stack;
	int rc;

	if (c->replay_object)
		return 0;
	rc = capture_writer_string(c->host.writer, "[graph replay]", &object.name);
	if (rc == 0)
		rc = capture_writer_object(c->host.writer, &object, &frame.object);
	/* An object is written with the first stack that has it. */
	if (rc == 0)
		rc = capture_writer_stack(c->host.writer, &frame, 1, STACK_ROOTED, &stack);
	c->replay_object = frame.object;
	return rc;
}

int cuda_put_captured(struct cuda *c, struct record *record)
{
	int rc = put_replay_object(c);

	record->launch.flags |= LAUNCH_CAPTURED;
	record->launch.correlation = c->host.number(c->host.data);
	c->stats.captured++;
	return rc < 0 ? rc : capture_writer_put(c->host.writer, record);
}

static struct record begin_record(const struct accel_event *e)
{
	return (struct record){
		.type = RECORD_LAUNCH,
		.launch = {
			.time_ns = e->time_ns,
			.thread = e->thread,
			.stack = e->stack,
			.kind = LAUNCH_KERNEL,
		},
	};
}

/* The parameters of a kernel's node (CUDA_KERNEL_NODE_PARAMS): the function, six sizes. */
static int put_node(struct cuda *c, struct cuda_process *p, const struct accel_event *e,
		    uint64_t graph, const uint64_t *parameters)
{
	struct record record = begin_record(e);
	struct kernel function;
	uint32_t sizes[6];
	int rc = graph_number(c, p, graph, &record.launch.graph);

	if (rc == 0)
		rc = cuda_function(c, p, parameters[0], &function);
	if (rc < 0)
		return rc;
	memcpy(sizes, parameters + 1, sizeof(sizes));
	memcpy(record.launch.grid, sizes, sizeof(record.launch.grid));
	memcpy(record.launch.block, sizes + 3, sizeof(record.launch.block));
	record.launch.kernel = function.record;
	return cuda_put_captured(c, &record);
}

int cuda_node_added(struct cuda *c, struct cuda_process *p, const struct accel_event *e)
{
	const uint64_t *v = e->value;

	if (p->is_told)
		return 0;
	if ((e->site->id & SITE_MASK) == SITE_GRAPH_NODE)
		return put_node(c, p, e, v[0], v + 1);
	/* CUgraphNodeParams: the kind, of which 0 is a kernel, before the parameters. */
	return v[1] == 0 ? put_node(c, p, e, v[0], v + 2) : 0;
}

int cuda_told_node(struct cuda *c, struct cuda_process *p, const struct accel_event *e)
{
	struct record record = begin_record(e);
	int rc = cuda_describe_launch(c, p, e, &record.launch);

	if (rc == 0)
		rc = cuda_put_captured(c, &record);
	if (rc == 0)
		rc = set_bounded(&p->nodes, e->value[5], record.launch.correlation, CUDA_NODES_MAX);
	return rc;
}

int cuda_told_copy(struct cuda_process *p, struct cursor *m)
{
	uint64_t node, original, *known;

	if (cursor_u64(m, &node, NULL) < 0 || cursor_u64(m, &original, NULL) < 0)
		return 0;
	known = hash_get(&p->nodes, original);
	return known ? set_bounded(&p->nodes, node, *known, CUDA_NODES_MAX) : 0;
}
