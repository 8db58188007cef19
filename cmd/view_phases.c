/* SPDX-License-Identifier: Apache-2.0 */
/* What the program is at, one phase a row, in the order in which they begin. */
#include "analyze/phases.h"
#include "base/strbuf.h"
#include "cmd/view.h"

#include <errno.h>
#include <inttypes.h>

enum {
	PHASE,
	STEPS,
	TIME,
	SHARE,
	BUSY,
	BUSY_SHARE,
	LAUNCHES,
	START,
	COLUMN_COUNT
};

static const struct sheet_column columns[] = {
	[PHASE] = { "phase", "PHASE", SHEET_TEXT, 12 },
	[STEPS] = { "steps", "steps", SHEET_COUNT, 0 },
	[TIME] = { "time_ns", "time", SHEET_NS, 0 },
	[SHARE] = { "share", "%", SHEET_SHARE, 0 },
	[BUSY] = { "busy_ns", "busy", SHEET_NS, 0 },
	[BUSY_SHARE] = { "busy_share", "% of it", SHEET_SHARE, 0 },
	[LAUNCHES] = { "launches", "launches", SHEET_COUNT, 0 },
	[START] = { "start_ns", NULL, SHEET_ID, 0 },
};

static const char *const sort_keys[] = { "start" };

int view_phases(struct sheet *t, const struct view *v, struct err *err)
{
	struct phases_summary s = { .count = 0 };

	sheet_init(t, "phases", columns, COLUMN_COUNT);
	int rc = view_check_sort(v->sort, sort_keys, ARRAY_SIZE(sort_keys), err);
	rc = rc ? rc : analysis_phases(v->a, v->filter, &s, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < s.count && i < v->limit; i++) {
		const struct phase_summary *p = &s.list[i];
		sheet_row(t);
		sheet_text(t, PHASE, p->name);
		if (p->steps)
			sheet_number(t, STEPS, p->steps);
		sheet_number(t, TIME, p->ns);
		sheet_share(t, SHARE, p->ns, s.ns);
		if (s.devices) {
			sheet_number(t, BUSY, p->busy_ns);
			sheet_share(t, BUSY_SHARE, p->busy_ns, p->ns * s.devices);
			sheet_number(t, LAUNCHES, p->launches);
		}
		sheet_number(t, START, p->begin_ns);
	}
	if (!s.is_one_of_several || !s.count)
		return 0;
	char text[64];
	if (s.rank)
		snprintf(text, sizeof(text), "of rank %" PRIu32 ", which launches most",
			 s.rank - 1);
	else
		snprintf(text, sizeof(text), "of process %" PRIu32 ", which launches most", s.pid);
	sheet_note(t, text);
	return 0;
}
