/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device work and launches by (process, kernel): which ran at a moment, and who launched how much.
 * Private to this module.
 */
#pragma once

#include "analyze/tables.h"

struct work_index;

int work_index_new(struct work_index **ret, struct analysis *a);
void work_index_free(struct work_index *x);
DEFINE_CLEANUP(work_index_free, struct work_index *)

#define WORK_NONE UINT32_MAX

/*
 * The group of this kernel in this process, WORK_NONE when there is none. @process 0: not known;
 * then the only process with such a kernel, if it is only one.
 */
uint32_t work_group(const struct work_index *x, uint32_t process, uint32_t name);

/* Row; 0: not known. */
uint32_t work_group_process(const struct work_index *x, uint32_t group);

struct work_hit {
	uint32_t op;
	uint64_t overlap_ns;
};

/* Far more than run at once; beyond it the time says nothing any more. */
#define WORK_HITS_MAX 64

/*
 * The ops of a group that ran in [@begin_ns, @end_ns), which for a moment is one nanosecond long.
 * Returns how many; 0 also when there are more than WORK_HITS_MAX.
 */
size_t work_running(struct work_index *x, uint32_t group, uint64_t begin_ns, uint64_t end_ns,
		    struct work_hit hits[WORK_HITS_MAX]);

struct work_share {
	uint32_t site;
	uint64_t weight; /* device time, or launches where none of the group has any */
};

struct work_shares {
	const struct work_share *list; /* by site */
	size_t count;
	uint64_t total; /* of the weights */
};

/* Who launched a group's kernel; valid as long as the index. 0 or -ENOMEM. */
int work_shares(struct work_index *x, uint32_t group, struct work_shares *ret);
