/* SPDX-License-Identifier: Apache-2.0 */
/* What stall reasons mean, in a sentence each, and which instruction a wait is for. */
#pragma once

#include "device/device.h"

/* "waits for ...; ..." for a reason as Intel's, NVIDIA's and AMD's runtimes write it; NULL. */
const char *device_stall_meaning(const char *reason);

/*
 * Intel: the instruction before @index in @function that a scoreboard token is taken by, which @index
 * names as a dependency: "{$5.dst}" waits for the last "{$5}" before it. Its index, or -ENOENT. By the
 * text, against the order of execution in loops and branches.
 */
int64_t device_stall_source(struct device_object *o, size_t function, size_t index);
