/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of each kernel besides sums, by its name: how its launches differ, what they had to do. */
#pragma once

#include "analyze/spread.h"
#include "analyze/work.h"

struct kernel_fact {
	struct spread spread; /* of its durations */
	uint64_t outlier_ns, outliers;
	double flops, roof_ns, work_ns; /* with operations that are known, in what time */
	const char *shape;              /* of most of its time; "" */
	bool has_shapes;                /* and others */
	uint64_t shape_ns;
};

struct kernel_facts;

/* Errors as analysis_work(). */
int kernel_facts_new(struct kernel_facts **ret, struct analysis *a,
		     const struct analysis_filter *filter, struct err *err);
void kernel_facts_free(struct kernel_facts *k);
DEFINE_CLEANUP(kernel_facts_free, struct kernel_facts *)

/* Never NULL: all 0 for one that is not known. */
const struct kernel_fact *kernel_facts_get(struct kernel_facts *k, const char *name);
