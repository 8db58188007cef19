/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of struct profile, for the files of this folder only.
 *
 * Ten million nodes are ordinary, so a node is a column in parallel arrays: 16 bytes for its place,
 * 4 to 11 for the hash that finds a child, and 16 for each metric that was ever put on a node
 * (self and total). Strings and frames are interned and few.
 */
#pragma once

#include "base/strtab.h"
#include "base/vec.h"
#include "profile/profile.h"

struct frame_record { /* a frame as numbers, so that equal content is equal bytes */
	uint32_t name, full, file, module, line;
	uint16_t kind, class;
};

struct metric {
	uint32_t name, unit;
	/* One value a node, both of length values_cap; NULL until the first value. */
	uint64_t *self, *total;
	uint32_t values_cap;
};

struct path_step {
	uint32_t frame, node;
};

struct profile {
	struct strtab strings;
	struct strtab frames; /* of struct frame_record; number 0, the empty string, is no frame */

	VEC(struct profile_node) nodes;
	uint32_t *slots; /* node + 1, by (parent, frame); 0 is free */
	size_t slots_cap;

	struct metric metrics[PROFILE_METRICS_MAX];
	int metric_count;

	/* The path that was added last: the next one usually starts in the same way. */
	VEC(struct path_step) last;
	bool failed; /* a value was lost to a lack of memory; profile_finish() says so */
};

/* Room for a value on each node. 0 or -ENOMEM. */
int metric_reserve(struct profile *p, struct metric *m);
