/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that perf events are opened for, and, from what the kernel tells of births and deaths,
 * which is the last of its process. For the perf_event engine only: our programs know it.
 */
#pragma once

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct perf_threads {
	VEC(uint32_t) tids;
	struct hash alive; /* process id -> how many threads it has */
};

void perf_threads_release(struct perf_threads *t);
/* All threads that process @pid has now; one that is gone has none. */
int perf_threads_add(struct perf_threads *t, uint32_t pid);
int perf_threads_born(struct perf_threads *t, uint32_t pid, uint32_t parent_pid);
/* Thread @tid of @pid ends: was it the last one? */
bool perf_threads_died(struct perf_threads *t, uint32_t pid, uint32_t tid);
