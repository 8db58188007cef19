/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What launches had to do at least, and how long their devices would need for it at their peaks: as
 * an import says, else by the operator that launched and its inputs (op_cost.h). Private to this
 * module.
 */
#pragma once

#include "analyze/op_cost.h"
#include "analyze/peaks.h"
#include "analyze/tables.h"

/* Of a launch with all that it stands for; 0: not known, and the sums count what is known. */
struct launch_cost {
	double flops, bytes;
	double flops_by[OP_NUMBER_COUNT]; /* of those whose numbers are known */
	double compute_ns, memory_ns;     /* at the device's peaks */
};

struct costs;

/* @a is borrowed. 0 or -ENOMEM. */
int costs_new(struct costs **ret, const struct analysis *a);
void costs_free(struct costs *c);
DEFINE_CLEANUP(costs_free, struct costs *)

/* @device: row; 0: not known. 0 or -ENOMEM. */
int costs_of(struct costs *c, const struct launch *l, uint32_t device, struct launch_cost *ret);

/* What a device (row) can do at best; NULL: not known. */
const struct device_peaks *costs_peaks(struct costs *c, uint32_t device);

const struct launch_detail *analysis_launch_detail(const struct analysis *a,
						   const struct launch *l);
