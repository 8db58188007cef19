/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes are recorded: those named, and what descends from them. Knows no events. */
#pragma once

#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct programs;

/* Called for each process that has been made a target. */
typedef int (*target_fn)(void *data, uint32_t pid);

/*
 * Make @pids targets in the kernel, and without @no_children everything that descends from them
 * already; what is born later becomes one in the kernel. -ESRCH: one is not there, -EPERM: it is not
 * ours to look at; the text says which.
 */
int targets_add(const struct programs *programs, const uint32_t *pids, size_t count,
		bool no_children, target_fn fn, void *data, struct err *err);

/* The same for threads @tids and the processes that they are of; without what descends from them. */
int targets_add_threads(const struct programs *programs, const uint32_t *tids, size_t count,
			target_fn fn, void *data, struct err *err);
