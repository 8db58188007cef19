/* SPDX-License-Identifier: Apache-2.0 */
/* How much the members of a list of numbers differ. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct spread {
	uint64_t count;
	uint64_t median;    /* the middle one, or halfway between the two in the middle */
	uint64_t p95;       /* what 95 percent of them do not exceed; nearest rank */
	uint64_t deviation; /* of a sample: divided by n - 1; 0 of one */
};

/* Sorts @values. All 0 for none. */
void spread_of(uint64_t *values, size_t count, struct spread *ret);
