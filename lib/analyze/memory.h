/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the devices (and of the host), as allocation events tell: how much there is at its
 * peak, and whose it is then. What was there before the first event is known only where the events say
 * how much there is in all.
 */
#pragma once

#include "analyze/analyze.h"

/* One device's memory as one process has it. */
struct memory_summary {
	const char *name;          /* of the device; borrowed from the capture; "" */
	uint32_t index, rank, pid; /* rank + 1, 0: not known */
	bool is_host;
	bool has_addresses;               /* else nobody knows whose the peak is */
	uint64_t peak, peak_ns;           /* bytes, and when */
	uint64_t reserved;                /* by the allocator, at most; 0: not known */
	uint64_t allocated, count, frees; /* bytes asked for in all, and how often */
	uint64_t begin, end;              /* how much there is, first and last */
};

/* malloc'ed, largest peak first. -EINVAL for a filter that cannot be understood; -ENOMEM. */
int analysis_memory(struct analysis *a, const struct analysis_filter *filter,
		    struct memory_summary **ret, size_t *ret_count, struct err *err);
