/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How launches reach a device over time, and what it does at once: for devices whose work has a
 * timeline. Knows no words.
 */
#pragma once

#include "analyze/analyze.h"
#include "analyze/spread.h"

/* A part of a device's window. */
struct queue_slice {
	uint32_t device; /* index */
	bool is_whole;   /* the sum of those before it */
	uint64_t begin_ns, end_ns;
	uint64_t launches; /* made in it */
	uint64_t on_idle;  /* of them, those when the device had nothing to do */
	/* From those calls to the start of their work: nothing but the launch lies between. */
	struct spread latency;
	/* Work that was launched and had not ended: the integral over the slice, and the most. */
	uint64_t depth_ns, depth_max;
	uint64_t idle_ns; /* nothing was launched that had not ended */
};

/*
 * Each device's window in @parts slices of the same length, then as a whole; malloc'ed. Work of
 * which the launch is not known is left out. Errors as analysis_summarize().
 */
int analysis_queueing(struct analysis *a, const struct analysis_filter *filter, size_t parts,
		      struct queue_slice **ret, size_t *ret_count, struct err *err);

enum overlap_part {
	OVERLAP_COMPUTE = 1,
	OVERLAP_COPY = 2,
	OVERLAP_COMMUNICATION = 4,
	OVERLAP_PARTS = 8,
};

struct overlap {
	uint32_t device; /* index */
	/* The window by what went on at the same time, a sum of the parts; [0]: nothing. */
	uint64_t ns[OVERLAP_PARTS];
};

int analysis_overlap(struct analysis *a, const struct analysis_filter *filter, struct overlap **ret,
		     size_t *ret_count, struct err *err);
