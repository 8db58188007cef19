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

/* Whether the metric is to be built, and has data. */
bool build_wants(const struct build *b, const char *name);
/* What was lost has a frame of its own; nobody knows whose it was, so a filter leaves it out. */
bool build_lost_any(const struct analysis *a, const char *what);
int build_lost(struct build *b, const char *what);
/* Put the sum of each (thread, stack) on its node. */
int build_sums(struct build *b, const uint64_t *sums);

/* build_device.c: */
bool has_ops(const struct analysis *a);
bool has_wall(const struct analysis *a);
bool has_launches(const struct analysis *a);
bool has_device_samples(const struct analysis *a);
bool has_energy(const struct analysis *a);
bool has_idle_host(const struct analysis *a);
int build_wall(struct build *b);
int build_device_time(struct build *b);
int build_device_samples(struct build *b);
int build_launches(struct build *b);
int build_energy(struct build *b);
int build_idle_host(struct build *b);

/* build_host.c: */
bool has_cpu_samples(const struct analysis *a);
bool has_cpu_time(const struct analysis *a);
bool has_blocked(const struct analysis *a);
bool has_event(const struct analysis *a, const char *metric);
int build_cpu_samples(struct build *b);
int build_cpu_time(struct build *b);
int build_blocked(struct build *b);
int build_events(struct build *b);
int build_memory_peak(struct build *b);
int build_memory_allocated(struct build *b);
int build_allocations(struct build *b);

/* build_syncs.c: */
bool has_sync_idle(const struct analysis *a);
int build_syncs(struct build *b);
int build_sync_wait(struct build *b);
int build_sync_idle(struct build *b);

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
