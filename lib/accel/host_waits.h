/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait for a device, from the hit at their beginning, with the stack, to that at their end: SYNC records. */
#pragma once

#include "accel/accel.h"
#include "base/vec.h"

/* Threads of one process that wait at the same time; what comes beyond is not recorded. */
#define HOST_WAITS_MAX 4096

struct host_wait {
	uint32_t tid, thread, stack;
	uint64_t time_ns;
	uint32_t name, device, queue;
};

/* Of one process; all-zero is none. */
struct host_waits {
	VEC(struct host_wait) list;
};

void host_waits_release(struct host_waits *w);
/* @device and @queue of the capture, or 0. */
int host_waits_begin(struct host_waits *w, struct capture_writer *writer,
		     const struct accel_event *e, uint32_t device, uint32_t queue);
int host_waits_end(struct host_waits *w, struct capture_writer *writer,
		   const struct accel_event *e);
