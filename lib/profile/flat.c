/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/flat.h"

#include <errno.h>
#include <stdlib.h>

/* Visit the nodes depth first, @depth counting how often each frame is on the path. */
static void flat_sum(const struct profile *p, int metric, struct flat_row *rows, uint32_t *depth)
{
	uint32_t node = PROFILE_ROOT;
	for (;;) {
		struct profile_node n = profile_node(p, node);
		struct flat_row *row = &rows[n.frame];
		row->self += profile_self(p, node, metric);
		if (!depth[n.frame]++)
			row->total += profile_total(p, node, metric);
		if (n.first_child != PROFILE_NONE) {
			node = n.first_child;
			continue;
		}
		for (;;) {
			n = profile_node(p, node);
			depth[n.frame]--;
			if (n.next != PROFILE_NONE)
				break;
			if (n.parent == PROFILE_NONE)
				return;
			node = n.parent;
		}
		node = n.next;
	}
}

static int compare_rows(const void *a, const void *b, void *order)
{
	const struct flat_row *x = a, *y = b;
	const uint32_t *rank = order;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return rank[x->frame] < rank[y->frame] ? -1 : rank[x->frame] > rank[y->frame];
}

int profile_flat(const struct profile *p, int metric, struct flat_row **ret, size_t *ret_count)
{
	uint32_t frames = profile_frame_count(p);
	CLEANUP_FREE struct flat_row *rows = calloc(frames, sizeof(*rows));
	CLEANUP_FREE uint32_t *depth = calloc(frames, sizeof(*depth));
	CLEANUP_FREE uint32_t *rank = calloc(frames, sizeof(*rank));
	CLEANUP_FREE uint32_t *order = NULL;
	size_t count = 0;
	if (!rows || !depth || !rank || profile_frame_order(p, &order) < 0)
		return -ENOMEM;

	flat_sum(p, metric, rows, depth);
	for (uint32_t i = 0; i < frames; i++)
		rank[order[i]] = i;
	for (uint32_t i = 0; i < frames; i++) {
		rows[i].frame = i;
		if (rows[i].total)
			rows[count++] = rows[i];
	}
	qsort_r(rows, count, sizeof(*rows), compare_rows, rank);
	*ret = TAKE(rows);
	*ret_count = count;
	return 0;
}
