/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the device worked on what a program enqueues, where the recorder asks for that: by events and their profiling
 * times. Queues are then made with profiling, of which the program sees nothing: not in what queues and events say of
 * themselves, and not in events, of which it has those that it asks for.
 */
#pragma once

#include "inject/opencl_api.h"

#include <stdbool.h>
#include <stdint.h>

/* Is it asked for? */
bool opencl_time_is_wanted(void);

/* A call that enqueues work; on the caller's stack. */
struct opencl_timing {
	void *queue, *own;
	void **event; /* what the call is to be given */
	uint64_t begin_ns;
	uint32_t kind; /* enum inject_launch_kind */
};
void opencl_time_begin(struct opencl_timing *t, void *queue, uint32_t kind, void **event);
cl_result opencl_time_end(struct opencl_timing *t, cl_result result);

/* Send what is known; called now and then. */
void opencl_time_look(void);
