/* SPDX-License-Identifier: Apache-2.0 */
/* Work as the host asks for it: LAUNCH records, and what waits to be joined with the device's. */
#include "accel/opencl.h"

#include "accel/info.h"
#include "base/bisect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* How far back one that was passed over is still of use, and looked at for each command. */
#define PASSED_OVER_MAX 4096
/* Take joined ones off the front when they are that many. */
#define PASSED_MIN 1024

struct opencl_launch *opencl_launch_get(struct opencl_queue *q, uint64_t number)
{
	uint64_t index = number - q->passed;

	if (number < q->passed || index >= q->launches.len)
		return NULL;
	return &q->launches.data[index];
}

/* Drop what is joined at the front, and, beyond the limit, the oldest. */
static void trim(struct opencl *o, const struct opencl_process *p, struct opencl_queue *q)
{
	size_t limit = p->has_pocl || p->is_timed ? OPENCL_WAITING_MAX : OPENCL_WAITING_MAX_MUTE;

	while (q->first < q->launches.len && (q->launches.data[q->first].is_joined ||
					      (q->launches.data[q->first].is_passed_over &&
					       q->launches.len - q->first > PASSED_OVER_MAX)))
		q->first++;
	if (q->launches.len - q->first > limit) {
		q->first++;
		o->stats.given_up += p->has_pocl || p->is_timed;
	}
	if (q->first < PASSED_MIN || q->first * 2 < q->launches.len)
		return;
	memmove(q->launches.data, q->launches.data + q->first,
		(q->launches.len - q->first) * sizeof(*q->launches.data));
	q->launches.len -= q->first;
	q->passed += q->first;
	q->first = 0;
}

static int add_launch(struct opencl *o, struct opencl_process *p, const struct accel_event *e,
		      size_t queue, const struct opencl_launch *launch)
{
	struct opencl_queue *q = &p->queues.data[queue];
	struct opencl_thread *thread;
	int rc;

	trim(o, p, q);
	if (vec_push(&q->launches, *launch) < 0)
		return -ENOMEM;
	rc = opencl_thread(p, e->tid, &thread);
	if (rc < 0)
		return rc;
	thread->in_call = true;
	thread->queue = queue;
	thread->launch = q->passed + q->launches.len - 1;
	return 0;
}

static uint32_t clamp32(uint64_t number)
{
	return number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

/* Sizes of an ND-range. With no local size the runtime chooses one: then the global size is told as
 * it is. */
static int set_grid(struct opencl *o, const struct accel_event *e, struct record_launch *launch)
{
	const uint64_t *global = &e->value[3], *local = &e->value[6];
	uint64_t dimensions = e->value[2];
	char text[96];

	if (dimensions < 1 || dimensions > 3)
		return 0;
	for (unsigned int i = 0; i < 3; i++) {
		uint64_t items = i < dimensions ? local[i] : 1;
		uint64_t all = i < dimensions ? global[i] : 1;
		if (items == 0) {
			memset(launch->grid, 0, sizeof(launch->grid));
			memset(launch->block, 0, sizeof(launch->block));
			snprintf(text, sizeof(text), "global=%" PRIu64 ",%" PRIu64 ",%" PRIu64,
				 global[0], dimensions > 1 ? global[1] : 1,
				 dimensions > 2 ? global[2] : 1);
			return capture_writer_string(o->host.writer, text, &launch->metadata);
		}
		launch->block[i] = clamp32(items);
		launch->grid[i] = clamp32(all / items + (all % items != 0));
	}
	return 0;
}

/* What the call says beside its queue. */
static int describe_launch(struct opencl *o, struct opencl_process *p, const struct accel_event *e,
			   struct opencl_launch *launch, struct record_launch *record)
{
	const struct opencl_transfer *transfer = opencl_transfer(e->site);
	struct kernel kernel;
	int rc;

	launch->kind = LAUNCH_KERNEL;
	launch->command = COMMAND_NDRANGE;
	if (e->site->id == SITE_NDRANGE || e->site->id == SITE_TASK) {
		launch->kernel_handle = e->value[1];
		rc = opencl_kernel(o, p, e->value[1], &kernel);
		if (rc < 0)
			return rc;
		launch->kernel = kernel.record;
		if (e->site->id == SITE_TASK) {
			for (unsigned int i = 0; i < 3; i++)
				record->grid[i] = record->block[i] = 1;
			return 0;
		}
		if (e->value[2] < 1 || e->value[2] > 3)
			launch->command = 0; /* CL_INVALID_WORK_DIMENSION */
		return set_grid(o, e, record);
	}
	if (transfer) {
		launch->kind = transfer->kind;
		launch->command = transfer->command;
		launch->bytes = e->value[1];
		launch->is_joined = p->is_timed && !transfer->is_timed;
		if (transfer->has_region &&
		    (__builtin_mul_overflow(e->value[1], e->value[2], &launch->bytes) ||
		     __builtin_mul_overflow(launch->bytes, e->value[3], &launch->bytes)))
			launch->bytes = 0;
		return capture_writer_string(o->host.writer, transfer->title, &launch->name);
	}
	launch->kind = LAUNCH_OTHER;
	launch->command = COMMAND_NATIVE;
	return capture_writer_string(o->host.writer, "Native Kernel", &launch->name);
}

int opencl_launched(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	struct record record = { .type = RECORD_LAUNCH };
	struct record_launch *r = &record.launch;
	struct opencl_launch launch = { .time_ns = e->time_ns, .tid = e->tid };
	size_t queue;
	int rc;

	rc = opencl_queue(o, p, e->value[0], &queue);
	if (rc == 0)
		rc = describe_launch(o, p, e, &launch, r);
	if (rc < 0)
		return rc;
	launch.correlation = o->host.correlation(o->host.data);
	r->time_ns = e->time_ns;
	r->thread = e->thread;
	r->stack = e->stack;
	r->kind = launch.kind;
	r->kernel = launch.kernel;
	r->queue = p->queues.data[queue].record;
	r->correlation = launch.correlation;
	r->name = launch.name;
	r->bytes = launch.bytes;
	memcpy(launch.grid, r->grid, sizeof(launch.grid));
	rc = capture_writer_put(o->host.writer, &record);
	if (rc < 0)
		return rc;
	o->stats.launches++;
	p->launches++;
	return add_launch(o, p, e, queue, &launch);
}

int opencl_dispatched(struct opencl *o, const struct opencl_queue *q,
		      const struct opencl_command_state *state, uint64_t end_ns)
{
	return accel_done(o->host.writer, &(struct accel_done){
						  .kind = state->kind,
						  .correlation = state->correlation,
						  .device = q->device,
						  .queue = q->record,
						  .kernel = state->kernel,
						  .name = state->name,
						  .bytes = state->bytes,
						  .start_ns = state->start_ns ? state->start_ns
									      : state->submitted_ns,
						  .end_ns = end_ns,
					  });
}

/* What @tid asked for last before a time. */
static struct opencl_launch *launch_before(struct opencl_queue *q, uint32_t tid, uint64_t time_ns)
{
	size_t n = bisect(q->launches.len, i, q->launches.data[i].time_ns <= time_ns);
	size_t least = n > OPENCL_SEARCH_MAX ? n - OPENCL_SEARCH_MAX : 0;

	while (n > least && q->launches.data[n - 1].tid != tid)
		n--;
	return n > least && !q->launches.data[n - 1].is_joined ? &q->launches.data[n - 1] : NULL;
}

/* Work whose launch was in another file, or was lost. */
static int launch_untold(struct opencl *o, const struct opencl_queue *q,
			 const struct inject_time *time, struct opencl_command_state *state)
{
	struct record record = { .type = RECORD_LAUNCH };

	state->kind = told_work_kind(time->kind);
	state->correlation = o->host.correlation(o->host.data);
	record.launch = (struct record_launch){
		.time_ns = time->start_ns,
		.kind = state->kind,
		.queue = q->record,
		.correlation = state->correlation,
		.flags = q->is_synced ? 0 : LAUNCH_BEFORE_WINDOW,
	};
	o->stats.unseen += q->is_synced;
	o->stats.before += !q->is_synced;
	return capture_writer_put(o->host.writer, &record);
}

int opencl_timed(struct opencl *o, struct opencl_process *p, const struct inject_time *time,
		 uint32_t tid)
{
	struct opencl_command_state state = { .start_ns = time->start_ns };
	struct opencl_launch *launch;
	struct opencl_queue *q;
	size_t queue;
	int rc = opencl_queue(o, p, time->handle, &queue);

	if (rc < 0)
		return rc;
	q = &p->queues.data[queue];
	launch = launch_before(q, tid, time->call_ns);
	if (launch) {
		launch->is_joined = true;
		state.kind = launch->kind;
		state.correlation = launch->correlation;
		state.kernel = launch->kernel;
		state.name = launch->name;
		state.bytes = launch->bytes;
		p->timed++;
		o->stats.timed++;
	} else {
		rc = launch_untold(o, q, time, &state);
	}
	return rc < 0 ? rc : opencl_dispatched(o, q, &state, time->end_ns);
}

int opencl_thread_seen(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	struct opencl_thread *thread;
	int rc = opencl_thread(p, e->tid, &thread);

	if (rc < 0)
		return rc;
	if (thread->in_call) {
		struct opencl_launch *launch =
			opencl_launch_get(&p->queues.data[thread->queue], thread->launch);
		if (launch)
			launch->ended_ns = e->time_ns;
		thread->in_call = false;
	}
	return p->waits.len ? opencl_waits_end(o, p, e->tid) : 0;
}

/* A wait lasts until the last command that it is for has completed: a little less than it does, for
 * the thread has to wake up. Its return could only be seen with a return probe, which would be in
 * the way of every unwinder meanwhile. */
int opencl_waiting(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	struct opencl_wait wait = {
		.tid = e->tid,
		.thread = e->thread,
		.stack = e->stack,
		.time_ns = e->time_ns,
	};
	size_t queue;
	int rc;

	if (!p->has_pocl || p->waits.len >= OPENCL_WAITS_MAX)
		return 0;
	if (e->site->id == SITE_FINISH) {
		rc = opencl_queue(o, p, e->value[0], &queue);
		if (rc < 0)
			return rc;
		wait.queue = e->value[0];
		wait.queue_record = p->queues.data[queue].record;
		wait.device = p->queues.data[queue].device;
	} else {
		for (size_t i = 0; i < WAIT_EVENTS && i < e->value[0]; i++)
			wait.event[i] = e->value[1 + i];
	}
	rc = capture_writer_string(o->host.writer, e->site->symbol, &wait.name);
	if (rc < 0)
		return rc;
	return vec_push(&p->waits, wait);
}

static int put_wait(struct opencl *o, const struct opencl_wait *wait)
{
	struct record record = {
		.type = RECORD_SYNC,
		.sync = {
			.time_ns = wait->time_ns,
			.duration_ns = wait->end_ns - wait->time_ns,
			.thread = wait->thread,
			.stack = wait->stack,
			.name = wait->name,
			.device = wait->device,
			.queue = wait->queue_record,
		},
	};
	int rc = capture_writer_put(o->host.writer, &record);

	if (rc != -EINVAL || !wait->stack)
		return rc;
	/* A very long wait: its stack has been forgotten. */
	record.sync.stack = 0;
	return capture_writer_put(o->host.writer, &record);
}

int opencl_waits_end(struct opencl *o, struct opencl_process *p, uint32_t tid)
{
	size_t kept = 0;
	int rc = 0;

	for (size_t i = 0; i < p->waits.len; i++) {
		struct opencl_wait *wait = &p->waits.data[i];
		if (tid && wait->tid != tid) {
			p->waits.data[kept++] = *wait;
			continue;
		}
		/* Nothing completed meanwhile: there was nothing to wait for. */
		if (wait->end_ns && rc == 0)
			rc = put_wait(o, wait);
	}
	p->waits.len = kept;
	return rc;
}
