/* SPDX-License-Identifier: Apache-2.0 */
/* How launches reach the devices over time; what devices do at once. */
#include "analyze/queueing.h"
#include "base/cleanup.h"
#include "cmd/view.h"

#include <inttypes.h>
#include <stdio.h>

/* Of a window: enough to see it change, few enough to be read. */
#define SLICES 10

enum {
	SLICE,
	LAUNCHES,
	ON_IDLE,
	LATENCY,
	LATENCY_P95,
	DEPTH,
	DEPTH_MAX,
	DEVICE,
	BEGIN,
	END,
	DEVIATION,
	EMPTY,
	QUEUE_COLUMNS
};

static const struct sheet_column queue_columns[] = {
	[SLICE] = { "slice", "WHEN", SHEET_TEXT, 12 },
	[LAUNCHES] = { "launches", "launches", SHEET_COUNT, 0 },
	[ON_IDLE] = { "on_idle", "when idle", SHEET_COUNT, 0 },
	[LATENCY] = { "latency_median_ns", "latency", SHEET_DURATION, 0 },
	[LATENCY_P95] = { "latency_p95_ns", "95 %", SHEET_DURATION, 0 },
	[DEPTH] = { "depth_mean", "queued", SHEET_DECIMAL, 0 },
	[DEPTH_MAX] = { "depth_max", "most", SHEET_COUNT, 0 },
	[DEVICE] = { "device", NULL, SHEET_ID, 0 },
	[BEGIN] = { "begin_ns", NULL, SHEET_ID, 0 },
	[END] = { "end_ns", NULL, SHEET_ID, 0 },
	[DEVIATION] = { "latency_deviation_ns", NULL, SHEET_NS, 0 },
	[EMPTY] = { "empty_share", NULL, SHEET_SHARE, 0 },
};

static void add_slice(struct sheet *t, const struct view *v, const struct queue_slice *s,
		      uint64_t window_begin_ns)
{
	struct strbuf text = { 0 };
	uint64_t length = s->end_ns - s->begin_ns;

	sheet_row(t);
	if (v->s->device_count > 1)
		strbuf_printf(&text, "%s %" PRIu32 ": ", view_device_word(v->s), s->device);
	strbuf_puts(&text, s->is_whole ? "all" : "from ");
	if (!s->is_whole)
		text_duration(&text, s->begin_ns - window_begin_ns);
	if (strbuf_finish(&text) < 0)
		t->failed = true;
	sheet_text(t, SLICE, strbuf_text(&text));
	strbuf_release(&text);
	sheet_number(t, LAUNCHES, s->launches);
	sheet_number(t, ON_IDLE, s->on_idle);
	if (s->latency.count) {
		sheet_number(t, LATENCY, s->latency.median);
		sheet_number(t, LATENCY_P95, s->latency.p95);
		sheet_number(t, DEVIATION, s->latency.deviation);
	}
	if (length)
		sheet_decimal(t, DEPTH, (double)s->depth_ns / (double)length);
	sheet_number(t, DEPTH_MAX, s->depth_max);
	sheet_number(t, DEVICE, s->device);
	sheet_number(t, BEGIN, s->begin_ns);
	sheet_number(t, END, s->end_ns);
	sheet_share(t, EMPTY, s->idle_ns, length);
}

int view_queue(struct sheet *t, const struct view *v, struct err *err)
{
	CLEANUP_FREE struct queue_slice *list = NULL;
	size_t count = 0;

	sheet_init(t, "queue", queue_columns, QUEUE_COLUMNS);
	int rc = view_check_sort(v->sort, NULL, 0, err);
	rc = rc ? rc : analysis_queueing(v->a, v->filter, SLICES, &list, &count, err);
	for (size_t i = 0; i < count && !rc; i++)
		add_slice(t, v, &list[i], list[i - i % (SLICES + 1)].begin_ns);
	return rc;
}

/* ---- overlap ---- */

enum {
	WHAT,
	TIME,
	SHARE,
	OVERLAP_DEVICE,
	OVERLAP_COLUMNS
};

static const struct sheet_column overlap_columns[] = {
	[WHAT] = { "what", "AT THE SAME TIME", SHEET_TEXT, 16 },
	[TIME] = { "ns", "", SHEET_NS, 0 },
	[SHARE] = { "share", "%", SHEET_SHARE, 0 },
	[OVERLAP_DEVICE] = { "device", "device", SHEET_ID, 0 },
};

static void add_overlap(struct sheet *t, const struct view *v, const struct overlap *o,
			const char *what, uint64_t ns, uint64_t all)
{
	sheet_row(t);
	sheet_text(t, WHAT, what);
	sheet_number(t, TIME, ns);
	sheet_share(t, SHARE, ns, all);
	if (v->s->device_count > 1)
		sheet_number(t, OVERLAP_DEVICE, o->device);
}

/* How much of one kind of work was hidden behind kernels. */
static void add_hidden(struct sheet *t, const struct view *v, const struct overlap *o,
		       enum overlap_part part, const char *what)
{
	uint64_t all = 0, hidden = 0;
	for (unsigned i = 0; i < OVERLAP_PARTS; i++) {
		all += i & part ? o->ns[i] : 0;
		hidden += (i & part) && (i & OVERLAP_COMPUTE) ? o->ns[i] : 0;
	}
	if (all)
		add_overlap(t, v, o, what, hidden, all);
}

static void add_device(struct sheet *t, const struct view *v, const struct overlap *o)
{
	static const struct {
		unsigned parts;
		const char *what;
	} rows[] = {
		{ OVERLAP_COMPUTE, "kernels alone" },
		{ OVERLAP_COPY, "copies alone" },
		{ OVERLAP_COMMUNICATION, "communication alone" },
		{ OVERLAP_COMPUTE | OVERLAP_COPY, "kernels and copies" },
		{ OVERLAP_COMPUTE | OVERLAP_COMMUNICATION, "kernels and communication" },
		{ OVERLAP_COPY | OVERLAP_COMMUNICATION, "copies and communication" },
		{ OVERLAP_COMPUTE | OVERLAP_COPY | OVERLAP_COMMUNICATION, "all three" },
		{ 0, "nothing" },
	};
	uint64_t all = 0;
	for (size_t i = 0; i < OVERLAP_PARTS; i++)
		all += o->ns[i];
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (o->ns[rows[i].parts])
			add_overlap(t, v, o, rows[i].what, o->ns[rows[i].parts], all);
	}
	add_overlap(t, v, o, "total", all, all);
	add_hidden(t, v, o, OVERLAP_COPY, "of copies, behind kernels");
	add_hidden(t, v, o, OVERLAP_COMMUNICATION, "of communication, behind kernels");
}

int view_overlap(struct sheet *t, const struct view *v, struct err *err)
{
	CLEANUP_FREE struct overlap *list = NULL;
	size_t count = 0;

	sheet_init(t, "overlap", overlap_columns, OVERLAP_COLUMNS);
	int rc = view_check_sort(v->sort, NULL, 0, err);
	rc = rc ? rc : analysis_overlap(v->a, v->filter, &list, &count, err);
	for (size_t i = 0; i < count && !rc; i++)
		add_device(t, v, &list[i]);
	return rc;
}
