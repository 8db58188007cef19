/* SPDX-License-Identifier: Apache-2.0 */
/* Work as the host asks for it, and its waits: LAUNCH and SYNC records. */
#include "accel/cuda.h"

#include "inject/message.h"

#include <string.h>

#define STREAM_LEGACY     1 /* CU_STREAM_LEGACY: the same as 0 */
#define STREAM_PER_THREAD 2 /* CU_STREAM_PER_THREAD */

uint64_t cuda_stream(const struct accel_event *e, uint64_t stream)
{
	if (stream == 0 && e->site->id & SITE_PER_THREAD)
		return STREAM_PER_THREAD;
	return stream == STREAM_LEGACY ? 0 : stream;
}

static void set_sizes(struct record_launch *launch, const uint32_t sizes[6])
{
	memcpy(launch->grid, sizes, sizeof(launch->grid));
	memcpy(launch->block, sizes + 3, sizeof(launch->block));
}

/* Sizes and stream of a kernel's launch, wherever the call has them. */
static void set_kernel_launch(const struct accel_event *e, struct record_launch *launch,
			      uint64_t *stream)
{
	const uint64_t *v = e->value;
	uint32_t sizes[6];

	switch (e->site->id & SITE_MASK) {
	case SITE_LAUNCH:
		for (unsigned int i = 0; i < 6; i++)
			sizes[i] = (uint32_t)v[1 + i];
		*stream = v[7];
		break;
	case SITE_RUNTIME_LAUNCH:
		sizes[0] = (uint32_t)v[1];
		sizes[1] = (uint32_t)(v[1] >> 32);
		sizes[2] = (uint32_t)v[2];
		sizes[3] = (uint32_t)v[3];
		sizes[4] = (uint32_t)(v[3] >> 32);
		sizes[5] = (uint32_t)v[4];
		*stream = v[5];
		break;
	case SITE_TOLD_LAUNCH:
		memcpy(sizes, &v[2], sizeof(sizes));
		break;
	default: /* CUlaunchConfig and cudaLaunchConfig_t: six sizes, shared memory, the stream;
		    the runtime's has the stream where the driver's has it */
		memcpy(sizes, &v[1], sizeof(sizes));
		*stream = v[5];
		break;
	}
	set_sizes(launch, sizes);
}

/* enum inject_launch_kind, of a node that of its work; 0: not told. */
static uint32_t told_kind(const struct accel_event *e)
{
	uint32_t kind = INJECT_LAUNCH_KIND(e->value[0]);

	if ((e->site->id & SITE_MASK) != SITE_TOLD_LAUNCH)
		return 0;
	return kind == INJECT_LAUNCH_NODE ? (uint32_t)e->value[0] : kind;
}

/* Work that is no kernel, of which only the kind is told at first: the name comes with its times. */
static int describe_told(struct cuda *c, uint32_t kind, struct record_launch *launch)
{
	launch->kind = kind == INJECT_LAUNCH_FILL ? LAUNCH_FILL : LAUNCH_COPY;
	if (kind != INJECT_LAUNCH_GRAPH)
		return 0;
	launch->kind = LAUNCH_GRAPH;
	c->stats.graphs++;
	return capture_writer_string(c->host.writer, "CUDA graph", &launch->name);
}

/* What the call says beside its thread and stack. */
static int describe_launch(struct cuda *c, struct cuda_process *p, const struct accel_event *e,
			   struct record_launch *launch, uint64_t *stream)
{
	const struct cuda_transfer *transfer = cuda_transfer(e->site);
	unsigned int site = e->site->id & SITE_MASK;
	struct kernel function;
	int rc;

	if (transfer) {
		launch->kind = transfer->kind;
		if (transfer->unit &&
		    __builtin_mul_overflow(e->value[0], transfer->unit, &launch->bytes))
			launch->bytes = 0;
		*stream = transfer->has_stream ? e->value[1] : 0;
		return capture_writer_string(c->host.writer, transfer->title, &launch->name);
	}
	if (site == SITE_GRAPH || site == SITE_RUNTIME_GRAPH) {
		launch->kind = LAUNCH_GRAPH;
		launch->graph = cuda_graph_number(p, e->value[0]);
		*stream = e->value[1];
		c->stats.graphs++;
		return capture_writer_string(c->host.writer, "CUDA graph", &launch->name);
	}
	if (site == SITE_TOLD_LAUNCH && told_kind(e) != INJECT_LAUNCH_KERNEL)
		return describe_told(c, told_kind(e), launch);
	launch->kind = LAUNCH_KERNEL;
	if (site == SITE_TOLD_LAUNCH && !e->value[1])
		return 0; /* added to a graph by name: its work tells which it is */
	set_kernel_launch(e, launch, stream);
	rc = cuda_function(c, p, e->value[site == SITE_TOLD_LAUNCH ? 1 : 0], &function);
	launch->kernel = function.record;
	return rc;
}

int cuda_describe_launch(struct cuda *c, struct cuda_process *p, const struct accel_event *e,
			 struct record_launch *launch)
{
	uint64_t stream;

	return describe_launch(c, p, e, launch, &stream);
}

int cuda_put_launch(struct cuda *c, struct cuda_process *p, struct cuda_thread *thread,
		    const struct accel_event *e)
{
	struct record record = {
		.type = RECORD_LAUNCH,
		.launch = {
			.time_ns = e->time_ns,
			.thread = e->thread,
			.stack = e->stack,
		},
	};
	bool is_told = (e->site->id & SITE_MASK) == SITE_TOLD_LAUNCH;
	struct cuda_queue queue = { 0 };
	uint64_t stream = 0;
	int rc;

	rc = describe_launch(c, p, e, &record.launch, &stream);
	if (rc == 0 && !is_told && record.launch.kind != LAUNCH_GRAPH) {
		record.launch.graph = cuda_captured_into(p, cuda_stream(e, stream));
		if (record.launch.graph)
			return cuda_put_captured(c, &record);
	}
	/* Told ones have the queue of the work that follows: a stream has another name there. */
	if (rc == 0 && !is_told)
		rc = cuda_queue(c, p, thread->device, cuda_stream(e, stream), &queue);
	if (rc < 0)
		return rc;
	record.launch.queue = queue.record;
	record.launch.correlation = c->host.correlation(c->host.data);
	thread->launch = record.launch.correlation;
	thread->launched_ns = e->time_ns;
	c->stats.launches++;
	c->stats.untimed += !p->is_told;
	return capture_writer_put(c->host.writer, &record);
}

int cuda_launched(struct cuda *c, struct cuda_process *p, const struct accel_event *e)
{
	struct cuda_thread *thread;
	int rc = cuda_thread(p, e->tid, &thread);

	if (rc < 0)
		return rc;
	/* One that was on its way before the kernel knew. */
	if (p->is_told)
		return 0;
	/* What the runtime's library was asked for, and hands on. */
	if (thread->is_waiting) {
		thread->is_waiting = false;
		p->nesting = NESTING_YES;
	}
	return cuda_put_launch(c, p, thread, e);
}

int cuda_runtime_launched(struct cuda *c, struct cuda_process *p, const struct accel_event *e)
{
	struct cuda_thread *thread;
	int rc;

	if (p->is_told || p->nesting == NESTING_YES)
		return 0;
	rc = cuda_thread(p, e->tid, &thread);
	if (rc < 0)
		return rc;
	if (p->nesting == NESTING_UNKNOWN && !thread->is_waiting) {
		/* The driver's call, which tells more, may follow. */
		thread->is_waiting = true;
		thread->pending = *e;
		thread->pending.stack = 0;
		thread->pending.text_size = 0;
		return 0;
	}
	p->nesting = NESTING_NO;
	if (thread->is_waiting) {
		thread->is_waiting = false;
		rc = cuda_put_launch(c, p, thread, &thread->pending);
	}
	return rc < 0 ? rc : cuda_put_launch(c, p, thread, e);
}

int cuda_waiting(struct cuda *c, struct cuda_process *p, const struct accel_event *e)
{
	struct cuda_queue queue = { 0 };
	struct cuda_thread *thread;
	int rc;

	rc = cuda_thread(p, e->tid, &thread);
	if (rc == 0 && site_value_count(e->site) && strncmp(e->site->symbol, "cuStream", 8) == 0)
		rc = cuda_queue(c, p, thread->device, cuda_stream(e, e->value[0]), &queue);
	if (rc < 0)
		return rc;
	return host_waits_begin(&p->waits, c->host.writer, e, queue.device, queue.record);
}
