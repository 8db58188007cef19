/* SPDX-License-Identifier: Apache-2.0 */
/* A profile while its metrics are put into it, one after the other. Private to build*.c. */
#pragma once

#include "analyze/account.h"
#include "analyze/filter.h"
#include "analyze/paths.h"
#include "analyze/syncs.h"
#include "profile/profile.h"

struct build {
	struct analysis *a;
	const struct analysis_profile_options *opt;
	const struct filter *f;
	struct profile *p;
	struct paths *paths;
	int metric;      /* being built */
	uint32_t device; /* being accounted for */
	struct syncs syncs;
	bool has_syncs;
	bool has_stalls; /* one metric for each stall reason is wanted */
	/* Of (thread, stack) groups, made for the first metric that needs them: process by process,
	 * so that the way of one stack is near that of the one before. */
	uint32_t *group_order;
	/* What the host did while devices were idle, by group; NULL: not summed up yet. */
	uint64_t *idle_sums;
	struct host_time *host;
};

/* To the metric that is being built. All return 0 or -ENOMEM. */
int build_add(struct build *b, uint32_t node, uint64_t value);
/* A value on the node of a piece of work that has passed build_op_passes(), if its launch passes,
 * too. */
int build_op(struct build *b, const struct op *op, uint64_t value);
int build_launch_node(const struct build *b, const struct launch *l, uint32_t *ret);

bool build_op_passes(const struct build *b, const struct op *op);
bool build_launch_passes(const struct build *b, const struct launch *l);

/* build_costs.c: */
bool has_flops(const struct analysis *a);
bool has_flops8(const struct analysis *a);
bool has_flops16(const struct analysis *a);
bool has_flops32(const struct analysis *a);
bool has_flops64(const struct analysis *a);
bool has_bytes(const struct analysis *a);
int build_flops(struct build *b);
int build_flops8(struct build *b);
int build_flops16(struct build *b);
int build_flops32(struct build *b);
int build_flops64(struct build *b);
int build_bytes(struct build *b);
int build_compute_roof(struct build *b);
int build_memory_roof(struct build *b);
