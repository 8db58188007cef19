/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginnings that stacks written as text have in common: the same thirty host frames under many
 * instructions. To find the longest one and to compare its bytes takes a tenth of the time that it
 * takes to look up its frames. Knows ';', nothing of frames.
 */
#pragma once

#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

/* What was found out about a beginning: the @depth root-most frames of the writer's @stack. */
struct prefix {
	uint32_t stack, depth;
	bool is_device, had_kernel;
};

struct prefix_slot {
	uint64_t hash;
	char *text; /* NULL: free */
	uint32_t size;
	uint32_t uses; /* less the attempts to take its place */
	struct prefix prefix;
};

/* All-zero is an empty one. */
struct prefixes {
	struct prefix_slot *slots;
	uint32_t *tags; /* of each slot some bits of the hash: most beginnings are not there */
};

void prefixes_release(struct prefixes *p);
/* How many bytes of @stack the longest known beginning has, with the ';' behind it; 0: none, and
 * @ret is not touched. */
size_t prefixes_find(const struct prefixes *p, struct span stack, struct prefix *ret);
/* Remember a beginning that ends in ';', if its place is free or seldom of use. 0 or -ENOMEM. */
int prefixes_keep(struct prefixes *p, struct span text, const struct prefix *prefix);
