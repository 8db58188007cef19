/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of struct profile, for the files of this folder only.
 *
 * Ten million nodes are ordinary, so a node is a column in parallel arrays: 16 bytes for its place,
 * 7 to 14 for the hash that finds a child, and 16 for each metric that was ever put on a node
 * (self and total). Strings and frames are interned and few.
 */
#pragma once

#include "base/slots.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/profile.h"

struct frame_record { /* a frame as numbers, so that equal content is equal bytes */
	uint32_t name, full, file, module, line;
	uint16_t kind;
	uint8_t class, is_inlined;
};

struct metric {
	uint32_t name, unit;
	/* One value a node, both of length values_cap; NULL until the first value. */
	uint64_t *self, *total;
	uint32_t values_cap;
};

struct profile {
	struct strtab strings;
	struct strtab frames; /* of struct frame_record; number 0, the empty string, is no frame */

	VEC(struct profile_node) nodes;
	/* Nodes by (parent, frame), but for those that are the number behind their parent's. */
	struct slots slots;

	struct metric metrics[PROFILE_METRICS_MAX];
	int metric_count;

	bool failed; /* a value was lost to a lack of memory; profile_finish() says so */
};

/* Room for a value on each node. 0 or -ENOMEM. */
int metric_reserve(struct profile *p, struct metric *m);
