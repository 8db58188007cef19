/* SPDX-License-Identifier: Apache-2.0 */
/* What most of the time in a piece of code is spent in: "dgemm_" of a line of Python. Knows rows by
 * number and nothing else of the table they stand in. */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "profile/profile.h"

/* All-zero is empty. */
struct inside {
	VEC(struct inside_part) parts;
	struct hash by_key; /* (row, frame) */
};

struct inside_part {
	uint32_t row, frame;
	uint32_t depth; /* of the frame, below the row's code */
	uint32_t node;  /* the last one that was added: recursion counts once */
	uint64_t value;
};

void inside_release(struct inside *in);
/* @value was spent in @node, that is below @code, or that itself, whose row is @row. 0 or -ENOMEM. */
int inside_add(struct inside *in, const struct profile *p, uint32_t row, uint32_t code,
	       uint32_t node, uint64_t value);
/*
 * Of each row, the frame farthest from its code that holds half of its value at least; PROFILE_NONE
 * for that of which none does. @totals and @ret have @count rows. 0 or -ENOMEM.
 */
int inside_find(const struct inside *in, const uint64_t *totals, uint32_t *ret, size_t count);
