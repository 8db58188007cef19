/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device work, added up by what asked for it, and step by step: what comparisons are made of.
 * Knows one capture.
 */
#pragma once

#include "analyze/analyze.h"
#include "analyze/peaks.h"
#include "analyze/spread.h"
#include "profile/profile.h"

struct work_item {
	uint32_t node; /* of the kernel in `p` */
	/* "aten::mm", "[[8,16],[16,4]]", "[\"float\",\"float\"]"; "" when not known; borrowed. */
	const char *op, *dims, *types;
	uint64_t ns, count;
	uint64_t outlier_ns, outliers; /* of them, what says nothing of the others */
	/* At least: as an import says, else by the operator and its inputs; 0: not known. */
	double flops, bytes;
	/* How long the device needs for them at its peaks. */
	double compute_ns, memory_ns;
	uint64_t groups; /* of the smallest launch; 0: not known */
	uint32_t kind;   /* enum launch_kind */
	uint32_t units;  /* of its device: multiprocessors, compute units; 0: not known */
};

struct work_step {
	uint64_t ns, busy_ns; /* busy: some device of the process worked */
	uint32_t run;         /* of a capture that is several of the same, merged; from 0 */
	bool is_left_out; /* by the filter; or it is a warm-up, far longer than those after it */
};

struct work {
	struct profile *p;
	struct work_item *items;
	size_t item_count;
	struct work_step *steps;
	size_t step_count;
	/* By piece of work: number of its item and step, + 1; 0: left out by the filter, outside. */
	uint32_t *op_items, *op_steps;
	uint64_t *op_ns;
	uint8_t *op_outliers; /* not 0: it is one */
	size_t op_count;
	/* Of the device that did most: its name, what it can do at best. */
	const char *device;
	struct device_peaks peaks;
	bool has_peaks;
	uint32_t units;
};

/* Release it whatever is returned. -EINVAL for a bad filter, -ENOMEM. */
int analysis_work(struct analysis *a, const struct analysis_filter *filter, struct work *ret,
		  struct err *err);
void work_release(struct work *w);
DEFINE_CLEANUP_EMBEDDED(work_release, struct work)

/*
 * How long the work of each of @count groups took, and how much that differs, without outliers;
 * @groups: by item, which it is in. 0 or -ENOMEM.
 */
int work_spreads(const struct work *w, const uint32_t *groups, size_t count, struct spread *ret);
