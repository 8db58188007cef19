/* SPDX-License-Identifier: Apache-2.0 */
/* Which metrics a capture has data for. */
#include "base/cleanup.h"
#include "cmd/view.h"

#include <string.h>

enum {
	NAME,
	UNIT,
	TOTAL,
	FORMS,
	COLUMN_COUNT
};

static const struct sheet_column columns[] = {
	[NAME] = { "metric", "METRIC", SHEET_TEXT, 0 },
	[UNIT] = { "unit", "unit", SHEET_TEXT, 0 },
	[TOTAL] = { "total", "total", SHEET_COUNT, 0 },
	[FORMS] = { "forms", "also as", SHEET_TEXT, 24 },
};

static bool has(const struct view *v, const char *metric)
{
	return profile_metric_find(v->p, metric) >= 0;
}

/* In what other forms --metrics takes it. */
static const char *forms_of(const struct view *v, const struct profile_metric *m)
{
	bool is_time = !strcmp(m->unit, "ns");
	if (!strcmp(m->name, "device-time"))
		return has(v, "launches") ? "time, time/s ms us ns %, avg_time/s ms us ns"
					  : "time, time/s ms us ns %";
	if (!strcmp(m->name, "launches"))
		return "count, launches/%";
	if (!strcmp(m->name, "flops") && has(v, "device-time"))
		return "flop/s, gflop/s, tflop/s; with bytes: flop/byte, util";
	if (!strncmp(m->name, "flops", 5) && has(v, "device-time"))
		return "flop8/s, gflop16/s, tflop32/s, ...";
	if (!strcmp(m->name, "bytes") && has(v, "device-time"))
		return "byte/s, gbyte/s, tbyte/s, util";
	if (!strcmp(m->name, "cpu-time"))
		return "cpu-time/s ms us ns %; cpu_time: of the frame itself";
	return is_time ? "with /s /ms /us /ns /%" : "with /%";
}

int view_metrics(struct sheet *t, const struct view *v, struct err *err)
{
	(void)err;
	sheet_init(t, "metrics", columns, COLUMN_COUNT);
	for (int i = 0; i < profile_metric_count(v->p); i++) {
		struct profile_metric m = profile_metric_get(v->p, i);
		if (!strcmp(m.unit, "ps")) /* what util is made from */
			continue;
		sheet_row(t);
		sheet_text(t, NAME, m.name);
		sheet_text(t, UNIT, m.unit);
		sheet_number(t, TOTAL, profile_total(v->p, PROFILE_ROOT, i));
		sheet_text(t, FORMS, forms_of(v, &m));
	}
	return 0;
}
