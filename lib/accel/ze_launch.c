/* SPDX-License-Identifier: Apache-2.0 */
/* Work as the host asks for it, and its waits: LAUNCH and SYNC records. */
#include "accel/ze.h"

#include "accel/info.h"

#include <errno.h>
#include <string.h>

#define NS_PER_SECOND 1000000000ull

/* What the call says beside its list, its kernel and its stack. */
static void set_sizes(const struct accel_event *e, struct ze_work *work)
{
	const uint64_t *v = e->value;

	if (e->site->id != SITE_LAUNCH && e->site->id != SITE_LAUNCH_SIZED)
		return;
	work->grid[0] = (uint32_t)v[2];
	work->grid[1] = (uint32_t)(v[2] >> 32);
	work->grid[2] = (uint32_t)v[3];
	if (e->site->id != SITE_LAUNCH_SIZED)
		return;
	work->block[0] = (uint32_t)v[4];
	work->block[1] = (uint32_t)(v[4] >> 32);
	work->block[2] = (uint32_t)v[5];
}

static int put_launch(struct ze *z, const struct accel_event *e, struct ze_work *work,
		      uint32_t queue, uint32_t flags)
{
	work->correlation = z->host.correlation(z->host.data);
	struct record record = {
		.type = RECORD_LAUNCH,
		.launch = {
			.time_ns = e->time_ns,
			.thread = e->thread,
			.stack = e->stack,
			.kind = work->kind,
			.kernel = work->kernel,
			.name = work->name,
			.queue = queue,
			.correlation = work->correlation,
			.flags = flags,
			.bytes = work->bytes,
			.count = work->count > 1 ? work->count : 0,
		},
	};

	memcpy(record.launch.grid, work->grid, sizeof(work->grid));
	memcpy(record.launch.block, work->block, sizeof(work->block));
	z->stats.launches += work->count;
	if (flags & LAUNCH_REPLAY)
		z->stats.replays += work->count;
	return capture_writer_put(z->host.writer, &record);
}

static bool is_same(const struct ze_work *a, const struct ze_work *b)
{
	return a->kernel == b->kernel && a->name == b->name && a->kind == b->kind &&
	       memcmp(a->grid, b->grid, sizeof(a->grid)) == 0 &&
	       memcmp(a->block, b->block, sizeof(a->block)) == 0;
}

/* Remember it for when the list is executed again: which of its work it is. */
static int keep(struct ze *z, struct ze_process *p, struct ze_list *list,
		const struct ze_work *work, size_t *ret)
{
	*ret = SIZE_MAX;
	for (size_t i = list->work.len; i > 0 && list->work.len - i < ZE_WORK_LOOK; i--) {
		struct ze_work *known = &list->work.data[i - 1];
		if (!is_same(known, work))
			continue;
		known->count++;
		known->bytes += work->bytes;
		*ret = i - 1;
		return 0;
	}
	if (list->work.len < ZE_WORK_MAX && p->kept < ZE_KEPT_MAX) {
		p->kept++;
		*ret = list->work.len;
		return vec_push(&list->work, *work);
	}
	z->stats.cut += !list->is_cut;
	list->is_cut = true;
	return 0;
}

/* The event that is signalled by what the call appends; 0: none. */
static uint64_t event_of(const struct accel_event *e)
{
	switch (e->site->id) {
	case SITE_LAUNCH:
		return e->value[4];
	case SITE_LAUNCH_SIZED:
		return e->value[6];
	case SITE_LAUNCH_SEVERAL:
		return 0;
	default: /* also of transfers */
		return e->value[2];
	}
}

static int await(struct ze_process *p, const struct ze_awaited *awaited)
{
	uint64_t *known = hash_get(&p->awaited_index, awaited->event);

	if (known) {
		p->awaited.data[*known] = *awaited;
		return 0;
	}
	if (p->awaited.len >= ZE_AWAITED_MAX) {
		hash_release(&p->awaited_index);
		p->awaited.len = 0;
	}
	if (vec_push(&p->awaited, *awaited) < 0)
		return -ENOMEM;
	return hash_set(&p->awaited_index, awaited->event, p->awaited.len - 1);
}

static int append(struct ze *z, struct ze_process *p, const struct accel_event *e,
		  struct ze_work *work)
{
	struct ze_awaited awaited = { .list = e->value[0], .work = SIZE_MAX };
	struct ze_list *list;
	int rc = ze_list(p, e->value[0], &list);

	if (rc < 0)
		return rc;
	rc = put_launch(z, e, work, list ? list->queue.record : 0, 0);
	if (rc == 0 && list && !list->is_immediate)
		rc = keep(z, p, list, work, &awaited.work);
	awaited.event = event_of(e);
	if (rc < 0 || !z->wants_times || !awaited.event)
		return rc;
	awaited.asked = *work;
	return await(p, &awaited);
}

/* Under which launch it was done: executed again, it is of who did that. */
static uint64_t correlation_of(const struct ze_awaited *awaited, const struct ze_list *list)
{
	const struct ze_work *work =
		awaited->work < list->work.len ? &list->work.data[awaited->work] : NULL;

	return work && list->executed > 1 && is_same(work, &awaited->asked)
		       ? work->correlation
		       : awaited->asked.correlation;
}

int ze_timed(struct ze *z, struct ze_process *p, const struct inject_time *time)
{
	uint64_t *known = hash_get(&p->awaited_index, time->handle);
	const struct ze_awaited *awaited = known ? &p->awaited.data[*known] : NULL;
	uint64_t *at = awaited ? hash_get(&p->list_index, awaited->list) : NULL;
	const struct ze_list *list = at ? &p->lists.data[*at] : NULL;

	if (!list) {
		z->stats.before++;
		return 0;
	}
	z->stats.timed++;
	return accel_done(z->host.writer, &(struct accel_done){
						  .kind = awaited->asked.kind,
						  .correlation = correlation_of(awaited, list),
						  .device = list->queue.device,
						  .queue = list->queue.record,
						  .kernel = awaited->asked.kernel,
						  .name = awaited->asked.name,
						  .bytes = awaited->asked.bytes,
						  .start_ns = time->start_ns,
						  .end_ns = time->end_ns,
					  });
}

static int append_kernel(struct ze *z, struct ze_process *p, const struct accel_event *e,
			 uint64_t handle)
{
	struct ze_work work = { .kind = LAUNCH_KERNEL, .count = 1 };
	struct kernel kernel;
	int rc = ze_kernel(z, p, handle, &kernel);

	if (rc < 0)
		return rc;
	work.kernel = kernel.record;
	set_sizes(e, &work);
	return append(z, p, e, &work);
}

/* The handles in an array that a call was given: their number. All of a long one are read from the target, where its
 * caller may have reused it by now: mostly it has not. */
static int read_handles(struct ze *z, const struct ze_process *p, const struct accel_event *e,
			uint64_t *handles)
{
	uint64_t count = e->value[1];

	if (count > ZE_ARRAY_MAX)
		return 0;
	if (count <= ZE_ARRAY_FIRST)
		memcpy(handles, &e->value[3], count * sizeof(*handles));
	else if (z->host.read(z->host.data, p->pid, e->value[2], handles,
			      count * sizeof(*handles)) < 0)
		return 0;
	return (int)count;
}

static uint64_t left_in_second(struct ze_process *p, uint64_t time_ns)
{
	if (time_ns / NS_PER_SECOND != p->second) {
		p->second = time_ns / NS_PER_SECOND;
		p->launches_in_second = 0;
	}
	return ZE_LAUNCHES_PER_SECOND - p->launches_in_second;
}

static int append_several(struct ze *z, struct ze_process *p, const struct accel_event *e)
{
	uint64_t handles[ZE_ARRAY_MAX];
	int count = read_handles(z, p, e, handles), rc = 0;

	if ((uint64_t)count > left_in_second(p, e->time_ns)) {
		z->stats.cut++;
		return 0;
	}
	p->launches_in_second += (uint64_t)count;
	for (int i = 0; i < count && rc == 0; i++)
		rc = append_kernel(z, p, e, handles[i]);
	return rc;
}

int ze_launched(struct ze *z, struct ze_process *p, const struct accel_event *e)
{
	const struct ze_transfer *transfer = ze_transfer(e->site);
	struct ze_work work = { .count = 1 };
	int rc;

	if (e->site->id == SITE_LAUNCH_SEVERAL)
		return append_several(z, p, e);
	if (!transfer)
		return append_kernel(z, p, e, e->value[1]);
	work.kind = transfer->kind;
	work.bytes = transfer->has_size ? e->value[1] : 0;
	rc = capture_writer_string(z->host.writer, transfer->title, &work.name);
	return rc < 0 ? rc : append(z, p, e, &work);
}

static int execute(struct ze *z, struct ze_process *p, const struct accel_event *e, uint64_t handle,
		   const struct ze_queue *queue)
{
	uint64_t *known = hash_get(&p->list_index, handle);
	struct ze_list *list = known ? &p->lists.data[*known] : NULL;
	int rc = 0;

	if (!list || list->is_immediate)
		return 0;
	if (list->executed && list->work.len > left_in_second(p, e->time_ns)) {
		z->stats.cut++;
	} else if (list->executed) {
		p->launches_in_second += list->work.len;
		vec_for_each(&list->work, it)
			rc = rc ? rc : put_launch(z, e, it, queue->record, LAUNCH_REPLAY);
	}
	list->executed++;
	/* The next time it will be the same. */
	list->queue = *queue;
	return rc;
}

int ze_executed(struct ze *z, struct ze_process *p, const struct accel_event *e)
{
	uint64_t handles[ZE_ARRAY_MAX];
	struct ze_queue queue;
	int count = read_handles(z, p, e, handles);
	int rc = ze_queue(z, p, e->value[0], &queue);

	for (int i = 0; i < count && rc == 0; i++)
		rc = execute(z, p, e, handles[i], &queue);
	return rc;
}

int ze_waiting(struct ze *z, struct ze_process *p, const struct accel_event *e)
{
	uint64_t *known = hash_get(&p->queue_index, e->value[0]);
	struct ze_queue queue = known ? p->queues.data[*known] : (struct ze_queue){ 0 };

	return host_waits_begin(&p->waits, z->host.writer, e, queue.device, queue.record);
}
