/* SPDX-License-Identifier: Apache-2.0 */
/* A capture in parts, each by the filter that leaves it: what `--by` goes through. */
#pragma once

#include "analyze/analyze.h"

struct analysis_group {
	const char *label; /* "stream 7"; lives as long as the groups */
	struct analysis_filter filter;
};

struct analysis_groups;

/* "device", "stream", "process", "rank", "thread", "step" or "scope". */
bool analysis_groups_known(const char *key);
/*
 * The parts of what @filter leaves, those with most device time first, steps in their order. -EINVAL
 * for a bad filter, -ENOMEM.
 */
int analysis_groups_new(struct analysis_groups **ret, struct analysis *a,
			const struct analysis_filter *filter, const char *key, struct err *err);
void analysis_groups_free(struct analysis_groups *g);
DEFINE_CLEANUP(analysis_groups_free, struct analysis_groups *)
/* NULL behind the last. */
const struct analysis_group *analysis_groups_get(const struct analysis_groups *g, size_t i);
