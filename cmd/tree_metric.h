/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a column of the tree shows, as people of Proton's viewer ask for it: "time/ms", "avg_time/us",
 * "time/%", "tflop16/s", "gbyte/s", "util". Rates and shares are made from sums at each node, never
 * summed up themselves.
 */
#pragma once

#include "base/err.h"
#include "profile/profile.h"

#define TREE_METRIC_PARTS 3 /* metrics of the profile that one of these needs at most */
#define TREE_METRIC_NAME  64

enum tree_metric_kind {
	TREE_TOTAL, /* with all below */
	TREE_SELF,  /* the node's own: what is not to be added up */
	TREE_SHARE, /* of the root's, in percent */
	TREE_RATE,  /* the first part divided by the second */
	TREE_ROOF,  /* the larger of the last two divided by the first */
};

struct tree_metric {
	enum tree_metric_kind kind;
	double factor;
	char parts[TREE_METRIC_PARTS][TREE_METRIC_NAME]; /* names of the profile's; "" */
	size_t part_count;
};

/* -EINVAL, with a text, when it is not one; whether there is data is not asked. */
int tree_metric_parse(const char *text, struct tree_metric *ret, struct err *err);
/* False: not known here. */
bool tree_metric_value(const struct tree_metric *m, const struct profile *p, uint32_t node,
		       double *ret);
/* What of a node decides whether it is among the widest: a sum. */
uint64_t tree_metric_weight(const struct tree_metric *m, const struct profile *p, uint32_t node);
