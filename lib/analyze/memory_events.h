/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations one by one, and what they come to. Private to this module. */
#pragma once

#include "analyze/filter.h"

struct allocation {
	uint64_t bytes, time_ns;
	uint32_t series, thread; /* thread: row */
	bool is_at_peak;         /* still there when its series is at its peak, as addresses tell */
};

/* Of one process on one device. */
struct memory_series {
	uint32_t process, device;
	int64_t now, lowest, highest; /* relative to what there was before */
	uint64_t peak_ns;
	size_t peak_event; /* counted over all series; SIZE_MAX: it never rises */
	int64_t base;      /* what there was before; known by totals, else what was freed of it */
	bool has_base;
	bool has_addresses; /* else nobody knows what is freed when */
	uint64_t reserved, allocated, count, frees;
};

struct memory {
	VEC(struct memory_series) series;
	VEC(struct allocation) list; /* in the order of the capture */
};

void memory_release(struct memory *m);
DEFINE_CLEANUP_EMBEDDED(memory_release, struct memory)
/* What passes @f; a peak is looked for within its time. Release it whatever is returned: 0 or -ENOMEM. */
int memory_find(struct memory *m, struct analysis *a, const struct filter *f);
bool memory_any(const struct analysis *a);
uint64_t memory_peak(const struct memory_series *s);
/* Of a series' peak, what no allocation is known for: with addresses, what was there before. */
uint64_t memory_before(const struct memory *m, uint32_t series);

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
