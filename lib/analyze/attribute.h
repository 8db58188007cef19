/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which launch a device sample belongs to. The first rule that applies:
 *
 * 1. The sample carries a correlation id: that launch.
 * 2. Dispatches of that kernel in that process were running at the sample's time: those, a sample
 *    that stands for an interval split by how much of it each covers, one at a moment evenly.
 * 3. All launches of that kernel in that process, weighted by the device time they took.
 * 4. Nobody: [unattributed].
 *
 * A sample may be split, so counts are kept in fractions and rounded once, at the end, in a way
 * that keeps the sum for each place exact. Never "the last launch wins".
 */
#pragma once

#include "analyze/filter.h"

enum attribute_rule {
	ATTRIBUTE_CORRELATION,
	ATTRIBUTE_OVERLAP,
	ATTRIBUTE_LAUNCHES,
	ATTRIBUTE_NONE,
	ATTRIBUTE_RULE_COUNT
};

/* @count samples of @place belong under @site. */
struct attributed {
	uint32_t place, site;
	uint64_t count;
};

struct attribution {
	VEC(struct attributed) list;            /* by place, then site */
	uint64_t by_rule[ATTRIBUTE_RULE_COUNT]; /* samples, rounded; they add up to all that pass */
	struct analysis_filter filter;          /* what it was made for */
};

/* The last one that was asked for is kept by @a; valid until the next call. 0 or -ENOMEM. */
int attribution_of(struct analysis *a, const struct filter *f, const struct attribution **ret);
void attribution_free(struct attribution *t);
