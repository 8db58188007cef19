/* SPDX-License-Identifier: Apache-2.0 */
/* Processes by the numbers that they have inside of a container. Reads /proc and control groups only. */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Put in place of each of @pids the process of the control group @name (as cgroup_find() has it) that
 * calls itself so. -ESRCH: there is none, -EINVAL: there are several; the text says which.
 */
int inside_resolve(const char *name, uint32_t *pids, size_t count, struct err *err);

/* A process of another pid namespace that calls itself @pid; 0: none. */
uint32_t inside_guess(uint32_t pid);
