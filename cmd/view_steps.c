/* SPDX-License-Identifier: Apache-2.0 */
/* Iterations, one a row, and below them how much they differ. */
#include "analyze/spread.h"
#include "base/cleanup.h"
#include "cmd/view.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	STEP,
	NUMBER,
	RANK,
	TIME,
	BUSY,
	SHARE,
	DEVICE,
	OPS,
	START,
	COLUMN_COUNT
};

static const struct sheet_column columns[] = {
	[STEP] = { "step", "STEP", SHEET_TEXT, 16 },
	[NUMBER] = { "number", NULL, SHEET_ID, 0 },
	[RANK] = { "rank", "rank", SHEET_ID, 0 },
	[TIME] = { "time_ns", "time", SHEET_NS, 0 },
	[BUSY] = { "busy_ns", "busy", SHEET_NS, 0 },
	[SHARE] = { "busy_share", "%", SHEET_SHARE, 0 },
	[DEVICE] = { "device_time_ns", "its work", SHEET_NS, 0 },
	[OPS] = { "ops", "ops", SHEET_COUNT, 0 },
	[START] = { "start_ns", NULL, SHEET_ID, 0 },
};

static const char *const sort_keys[] = { "start", "time", "busy" };

static int compare_steps(const void *va, const void *vb, void *data)
{
	const struct step_summary *a = va, *b = vb;
	const char *sort = data;
	uint64_t x = 0, y = 0;
	if (!strcmp(sort, "time")) {
		x = a->end_ns - a->begin_ns;
		y = b->end_ns - b->begin_ns;
	} else if (!strcmp(sort, "busy")) {
		x = a->busy_ns;
		y = b->busy_ns;
	}
	if (x != y)
		return x > y ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

enum {
	SPREAD_MEDIAN,
	SPREAD_P95,
	SPREAD_DEVIATION,
	SPREAD_COUNT
};

static const char *const spread_names[] = { "median", "95th percentile", "standard deviation" };

static const size_t spread_columns[] = { TIME, BUSY, DEVICE, OPS };

static uint64_t step_value(const struct step_summary *s, size_t column)
{
	switch (column) {
	case TIME:
		return s->end_ns - s->begin_ns;
	case BUSY:
		return s->busy_ns;
	case DEVICE:
		return s->device_ns;
	default:
		return s->ops;
	}
}

static int add_spread(struct sheet *t, const struct step_summary *list, size_t n)
{
	uint64_t found[ARRAY_SIZE(spread_columns)][SPREAD_COUNT];
	CLEANUP_FREE uint64_t *values = calloc(n, sizeof(*values));
	if (!values)
		return -ENOMEM;
	for (size_t c = 0; c < ARRAY_SIZE(spread_columns); c++) {
		for (size_t i = 0; i < n; i++)
			values[i] = step_value(&list[i], spread_columns[c]);
		struct spread spread;
		spread_of(values, n, &spread);
		found[c][SPREAD_MEDIAN] = spread.median;
		found[c][SPREAD_P95] = spread.p95;
		found[c][SPREAD_DEVIATION] = spread.deviation;
	}
	for (size_t k = 0; k < SPREAD_COUNT; k++) {
		sheet_row(t);
		sheet_text(t, STEP, spread_names[k]);
		for (size_t c = 0; c < ARRAY_SIZE(spread_columns); c++)
			sheet_number(t, spread_columns[c], found[c][k]);
	}
	return 0;
}

static void add_step(struct sheet *t, const struct step_summary *s, size_t devices)
{
	char text[64];
	uint64_t time = s->end_ns - s->begin_ns;

	sheet_row(t);
	snprintf(text, sizeof(text), "repetition %" PRIu64, s->number);
	sheet_text(t, STEP, *s->name ? s->name : text);
	sheet_number(t, NUMBER, s->number);
	if (s->rank)
		sheet_number(t, RANK, s->rank - 1);
	for (size_t c = 0; c < ARRAY_SIZE(spread_columns); c++)
		sheet_number(t, spread_columns[c], step_value(s, spread_columns[c]));
	/* Of several devices, those of one rank are not told apart here. */
	if (devices <= 1 || s->rank)
		sheet_share(t, SHARE, s->busy_ns, time);
	sheet_number(t, START, s->begin_ns);
}

int view_steps(struct sheet *t, const struct view *v, struct err *err)
{
	CLEANUP_FREE struct step_summary *list = NULL;
	size_t count = 0;
	char text[64];

	sheet_init(t, "step_list", columns, COLUMN_COUNT);
	int rc = view_check_sort(v->sort, sort_keys, ARRAY_SIZE(sort_keys), err);
	rc = rc ? rc : analysis_step_list(v->a, v->filter, &list, &count, err);
	if (rc < 0)
		return rc;
	if (count)
		qsort_r(list, count, sizeof(*list), compare_steps,
			(void *)(v->sort ? v->sort : "start"));
	size_t shown = count <= v->limit ? count : v->limit;
	for (size_t i = 0; i < shown; i++)
		add_step(t, &list[i], v->s->device_count);
	if (shown < count) {
		snprintf(text, sizeof(text), "%zu more", count - shown);
		sheet_row(t);
		sheet_text(t, STEP, text);
	}
	/* Two have no spread to speak of. */
	if (count > 2 && add_spread(t, list, count) < 0)
		return err_set(err, -ENOMEM, "cannot list steps");
	return 0;
}
