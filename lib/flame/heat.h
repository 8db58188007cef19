/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values over time as a grid: a column is a second (or another power of ten), a row a fiftieth of
 * it; and which call paths they were spent on, piece by piece. Knows events; not how it looks.
 */
#pragma once

#include "base/cleanup.h"
#include "base/vec.h"
#include "profile/events.h"

#include <stdbool.h>
#include <stdint.h>

#define HEAT_ROWS 50u

/* What one piece of the grid has of one call path. */
struct heat_slice {
	uint32_t piece; /* column * HEAT_ROWS + row */
	uint32_t node;  /* of the profile, in pre-order */
	uint64_t value;
};

struct heat_event {
	uint64_t time_ns, duration_ns, value; /* @duration_ns 0: a moment */
	uint32_t node;                        /* of the events' tree, later of the profile */
};

struct heat_metric {
	const char *name, *unit;
	unsigned kinds;   /* bits of enum event_kind */
	bool is_duration; /* else each counts its value */
};

/* Set @metric and @origin_ns; the rest is filled in by heat_sink(). */
struct heat {
	const struct heat_metric *metric;
	uint64_t origin_ns; /* what times are counted from: columns begin at whole ones after it */
	uint64_t begin_ns, end_ns; /* of everything that happened, whatever the metric */
	uint64_t column_ns;
	uint32_t columns;
	uint64_t *values;              /* by piece */
	struct profile *profile;       /* finished, with the metric as its only one */
	VEC(struct heat_slice) slices; /* by piece, then node */

	const struct profile *events_tree;
	VEC(struct heat_event) events;
};

void heat_release(struct heat *h);
DEFINE_CLEANUP_EMBEDDED(heat_release, struct heat)

/* NULL when there is none of that name; @i counts up for a list. */
const struct heat_metric *heat_metric_find(const char *name);
const struct heat_metric *heat_metric_at(size_t i);

/*
 * Takes events into @h, which must stay where it is. Its end() makes the grid, the profile and the
 * slices of what came: -ENODATA when it is nothing, -E2BIG for more slices than HEAT_SLICES_MAX.
 */
#define HEAT_SLICES_MAX (8u << 20) /* 16 bytes each; a page of them has about as many bytes */
struct event_sink heat_sink(struct heat *h);

static inline uint64_t heat_piece_ns(const struct heat *h)
{
	return h->column_ns / HEAT_ROWS;
}
