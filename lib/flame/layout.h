/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree as rectangles of whole units, for a picture of a given width: what a viewer without
 * scripts sees. Knows no pixel, colour or file format.
 *
 * The left and right edge of a node are the sums of values to their left, scaled and rounded down,
 * so that children always lie within their parent and never overlap.
 */
#pragma once

#include "base/cleanup.h"
#include "base/vec.h"

#include <stdint.h>

struct profile;

struct flame_rect {
	uint32_t node;
	uint32_t row; /* 0 for the root */
	uint32_t x, width;
};

struct flame_layout {
	VEC(struct flame_rect) rects; /* in the order of the tree, each at least one unit wide */
	uint32_t rows;
};

void flame_layout_release(struct flame_layout *l);
DEFINE_CLEANUP_EMBEDDED(flame_layout_release, struct flame_layout)
/* 0, -ENODATA when nothing has a value, or -ENOMEM. */
int flame_layout_make(const struct profile *p, int metric, uint32_t width,
		      struct flame_layout *ret);
