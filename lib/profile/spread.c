/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/filter.h"

#include "profile/tree.h"

#include <errno.h>
#include <stdlib.h>

static bool is_accelerator(const struct profile *p, uint32_t node)
{
	switch (profile_frame_get(p, p->nodes.data[node].frame).kind) {
	case FRAME_KERNEL:
	case FRAME_FUNCTION:
	case FRAME_SOURCE:
	case FRAME_INSTRUCTION:
	case FRAME_STALL:
		return true;
	default:
		return false;
	}
}

/* The part of @value that belongs to what @end of @whole has been reached by. */
static uint64_t part_until(uint64_t value, uint64_t end, uint64_t whole)
{
	return (uint64_t)((unsigned __int128)value * end / whole);
}

int profile_spread(struct profile *p, int metric, int by)
{
	struct metric *m = &p->metrics[metric];
	if (!m->self || !p->metrics[by].self)
		return 0;
	if (metric_reserve(p, m) < 0)
		return -ENOMEM;

	/* From the root on, each hands its share to its children; the rounded-off rest of each
	 * division lies between two of them and is lost to neither. */
	for (uint32_t node = 1; node < p->nodes.len; node++) {
		uint64_t whole = profile_total(p, node, by);
		uint64_t value = m->self[node];
		if (!value || !whole || !is_accelerator(p, node))
			continue;

		uint64_t end = profile_self(p, node, by);
		uint64_t given = part_until(value, end, whole);
		m->self[node] = given;
		for (uint32_t c = p->nodes.data[node].first_child; c != PROFILE_NONE;
		     c = p->nodes.data[c].next) {
			end += profile_total(p, c, by);
			uint64_t part = part_until(value, end, whole) - given;
			given += part;
			m->self[c] += part;
		}
	}
	return profile_finish(p);
}
