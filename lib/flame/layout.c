/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/layout.h"

#include "profile/profile.h"

#include <errno.h>

/* A picture taller than this (80,000 pixels) cannot be shown by browsers; what is deeper is only
 * in the data. */
#define LAYOUT_ROWS_MAX 5000

struct scale {
	uint64_t total;
	uint32_t width;
};

/* The edge right of everything that adds up to @sum. Monotonic, so that edges nest. */
static uint32_t scale_edge(struct scale s, uint64_t sum)
{
	if (sum >= s.total)
		return s.width;
	return (uint32_t)((unsigned __int128)sum * s.width / s.total);
}

void flame_layout_release(struct flame_layout *l)
{
	vec_release(&l->rects);
}

int flame_layout_make(const struct profile *p, int metric, uint32_t width, struct flame_layout *ret)
{
	struct scale scale = { .total = profile_total(p, PROFILE_ROOT, metric), .width = width };
	CLEANUP(flame_layout_release) struct flame_layout l = { 0 };
	VEC(uint64_t) left = { 0 }; /* by row: the sum left of the next node there */
	const struct profile_node *nodes = profile_nodes(p);
	const uint64_t *totals = profile_totals(p, metric);
	int rc = scale.total ? vec_push(&left, 0) : -ENODATA;

	for (uint32_t node = PROFILE_ROOT, row = 0; rc == 0;) {
		const struct profile_node n = nodes[node];
		uint64_t begin = left.data[row];
		uint64_t end;
		if (__builtin_add_overflow(begin, totals[node], &end))
			end = UINT64_MAX;
		uint32_t x = scale_edge(scale, begin);
		uint32_t w = scale_edge(scale, end) - x;
		left.data[row] = end;

		if (w) {
			rc = vec_push(&l.rects, (struct flame_rect){ node, row, x, w });
			if (row + 1 > l.rows)
				l.rows = row + 1;
		}
		/* What is not seen hides all above it. */
		if (rc == 0 && w && n.first_child != PROFILE_NONE && row + 1 < LAYOUT_ROWS_MAX) {
			node = n.first_child;
			row++;
			rc = vec_reserve(&left, row + 1);
			if (rc == 0)
				left.data[row] = begin;
			continue;
		}
		while (node != PROFILE_ROOT && nodes[node].next == PROFILE_NONE) {
			node = nodes[node].parent;
			row--;
		}
		if (node == PROFILE_ROOT)
			break;
		node = nodes[node].next;
	}
	vec_release(&left);
	if (rc < 0)
		return rc;
	*ret = l;
	l = (struct flame_layout){ 0 };
	return 0;
}
