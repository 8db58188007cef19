/* SPDX-License-Identifier: Apache-2.0 */
/* The tree as a list: each frame once, with what was spent in it and below it. */
#pragma once

#include "profile/profile.h"

struct flat_row {
	uint32_t frame;
	uint64_t self;
	uint64_t total; /* counted once where a function calls itself */
};

/*
 * Every frame with a value, malloc'ed, largest self first, then largest total, then by name. The
 * profile must be finished. 0 or -ENOMEM.
 */
int profile_flat(const struct profile *p, int metric, struct flat_row **ret, size_t *ret_count);
