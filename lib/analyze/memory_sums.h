/* SPDX-License-Identifier: Apache-2.0 */
/* What allocations come to, by the host code that made them. Private to this module. */
#pragma once

#include "analyze/filter.h"

bool memory_any(const struct analysis *a);

enum memory_measure {
	MEMORY_PEAK,
	MEMORY_ALLOCATED,
	MEMORY_ALLOCATIONS
};

/* What is in no sum: of threads that were not seen then, and of a peak from before. */
struct memory_rest {
	uint64_t unknown, before;
};

/*
 * Add to @sums what each sample group, the host code that the thread was in, allocated: of devices, and
 * where there are none, of the host. 0 or -ENOMEM.
 */
int memory_sums(struct analysis *a, const struct filter *f, enum memory_measure measure,
		uint64_t *sums, struct memory_rest *ret);
