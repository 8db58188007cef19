/* SPDX-License-Identifier: Apache-2.0 */
/* Two profiles as one tree that shows what changed. Knows frames and sums; no colours. */
#pragma once

#include "profile/profile.h"

/* The metrics of such a tree. */
enum {
	DIFF_BOTH, /* of each node's own values the larger: what it takes to show what is gone, too */
	DIFF_NOW,
	DIFF_BASE, /* scaled, so that its sum is that of DIFF_NOW */
};

/*
 * One metric of each. What is another one in each run does not keep frames apart: the lines of
 * Python frames, which move with each edit, and numbers in the names of processes.
 * 0, -ENODATA when one of the two has no value, or -ENOMEM.
 */
int profile_diff(const struct profile *base, int base_metric, const struct profile *now,
		 int now_metric, struct profile **ret);
