/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/host_waits.h"

#include <errno.h>

void host_waits_release(struct host_waits *w)
{
	vec_release(&w->list);
}

static struct host_wait *find_wait(struct host_waits *w, uint32_t tid)
{
	vec_for_each(&w->list, it)
		if (it->tid == tid)
			return it;
	return NULL;
}

int host_waits_begin(struct host_waits *w, struct capture_writer *writer,
		     const struct accel_event *e, uint32_t device, uint32_t queue)
{
	struct host_wait *known = find_wait(w, e->tid);
	struct host_wait wait = {
		.tid = e->tid,
		.thread = e->thread,
		.stack = e->stack,
		.time_ns = e->time_ns,
		.device = device,
		.queue = queue,
	};
	int rc = capture_writer_string(writer, e->site->symbol, &wait.name);

	if (rc < 0)
		return rc;
	/* One whose end was lost: a thread waits once at a time. */
	if (known) {
		*known = wait;
		return 0;
	}
	return w->list.len >= HOST_WAITS_MAX ? 0 : vec_push(&w->list, wait);
}

int host_waits_end(struct host_waits *w, struct capture_writer *writer, const struct accel_event *e)
{
	struct host_wait *wait = find_wait(w, e->tid);
	int rc;

	if (!wait)
		return 0;
	struct record record = {
		.type = RECORD_SYNC,
		.sync = {
			.time_ns = wait->time_ns,
			.duration_ns = e->time_ns - wait->time_ns,
			.thread = wait->thread,
			.stack = wait->stack,
			.name = wait->name,
			.device = wait->device,
			.queue = wait->queue,
		},
	};
	*wait = *vec_last(&w->list);
	w->list.len--;
	rc = capture_writer_put(writer, &record);
	if (rc != -EINVAL || !record.sync.stack)
		return rc;
	/* A very long wait: its stack has been forgotten. */
	record.sync.stack = 0;
	return capture_writer_put(writer, &record);
}
