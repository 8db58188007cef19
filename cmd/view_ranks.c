/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of one job, then their collectives by name: waiting and transfer, who is last, and what
 * that costs. */
#include "analyze/ranks.h"
#include "cmd/view.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	WHAT,
	KIND,
	RANK,
	PID,
	COUNT,
	TIME,
	WAIT,
	TRANSFER,
	LAST,
	COST,
	SLOWEST,
	COLUMN_COUNT
};

static const struct sheet_column columns[] = {
	[WHAT] = { "name", "RANK, COLLECTIVE", SHEET_TEXT, 16 },
	[KIND] = { "kind", NULL, SHEET_TEXT, 0 },
	[RANK] = { "rank", NULL, SHEET_ID, 0 },
	[PID] = { "pid", NULL, SHEET_ID, 0 },
	[COUNT] = { "count", "count", SHEET_COUNT, 0 },
	[TIME] = { "time_ns", "time", SHEET_NS, 0 },
	[WAIT] = { "wait_ns", "waiting", SHEET_NS, 0 },
	[TRANSFER] = { "transfer_ns", "transfer", SHEET_NS, 0 },
	[LAST] = { "last", "last", SHEET_COUNT, 0 },
	[COST] = { "cost_ns", "others wait", SHEET_NS, 0 },
	[SLOWEST] = { "slowest", "for", SHEET_TEXT, 8 },
};

static const char *const sort_keys[] = { "time" };

static void rank_name(struct strbuf *out, const struct rank_summary *r)
{
	strbuf_reset(out);
	if (r->rank)
		strbuf_printf(out, "rank %" PRIu32, r->rank - 1);
	else
		strbuf_printf(out, "process %" PRIu32, r->pid);
}

static void add_split(struct sheet *t, bool is_known, uint64_t wait_ns, uint64_t transfer_ns)
{
	if (!is_known)
		return;
	sheet_number(t, WAIT, wait_ns);
	sheet_number(t, TRANSFER, transfer_ns);
}

static void add_rank(struct sheet *t, const struct rank_summary *r, struct strbuf *text)
{
	rank_name(text, r);
	if (*r->comm)
		strbuf_printf(text, " %s", r->comm);
	sheet_row(t);
	sheet_text(t, WHAT, strbuf_text(text));
	sheet_text(t, KIND, "rank");
	if (r->rank)
		sheet_number(t, RANK, r->rank - 1);
	sheet_number(t, PID, r->pid);
	sheet_number(t, COUNT, r->collectives);
	sheet_number(t, TIME, r->time_ns);
	add_split(t, r->matched, r->wait_ns, r->transfer_ns);
	if (!r->matched)
		return;
	sheet_number(t, LAST, r->last);
	sheet_number(t, COST, r->cost_ns);
}

static void add_collective(struct sheet *t, const struct ranks_summary *s,
			   const struct collective_summary *c, struct strbuf *text)
{
	sheet_row(t);
	sheet_text(t, WHAT, c->name);
	sheet_text(t, KIND, "collective");
	sheet_number(t, COUNT, c->count);
	sheet_number(t, TIME, c->time_ns);
	add_split(t, c->matched, c->wait_ns, c->transfer_ns);
	if (!c->slowest_ns)
		return;
	rank_name(text, &s->ranks[c->slowest]);
	sheet_number(t, LAST, c->last);
	sheet_number(t, COST, c->slowest_ns);
	sheet_text(t, SLOWEST, strbuf_text(text));
}

/* What the split does not know. */
static void add_notes(struct sheet *t, const struct ranks_summary *s, struct strbuf *text)
{
	uint64_t alone = 0;
	for (size_t i = 0; i < s->rank_count; i++)
		alone += s->ranks[i].collectives - s->ranks[i].matched;
	strbuf_reset(text);
	if (s->rank_count == 1) {
		sheet_note(t, "one rank: its time includes waiting for the others");
		return;
	}
	if (alone) {
		text_count(text, alone);
		strbuf_puts(text, " found on one rank only: their time includes waiting");
		sheet_note(t, strbuf_text(text));
	}
	if (s->world > s->rank_count) {
		strbuf_reset(text);
		strbuf_printf(text,
			      "%zu of %" PRIu64
			      " ranks: waiting for one that is not here counts as transfer",
			      s->rank_count, s->world);
		sheet_note(t, strbuf_text(text));
	}
}

int view_ranks(struct sheet *t, const struct view *v, struct err *err)
{
	CLEANUP(analysis_ranks_release) struct ranks_summary s = { .rank_count = 0 };
	struct strbuf text = { 0 };

	sheet_init(t, "ranks", columns, COLUMN_COUNT);
	int rc = view_check_sort(v->sort, sort_keys, ARRAY_SIZE(sort_keys), err);
	rc = rc ? rc : analysis_ranks(v->a, v->filter, &s, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < s.rank_count && i < v->limit; i++)
		add_rank(t, &s.ranks[i], &text);
	for (size_t i = 0; i < s.count && i < v->limit; i++)
		add_collective(t, &s, &s.list[i], &text);
	if (s.rank_count)
		add_notes(t, &s, &text);
	rc = strbuf_finish(&text);
	strbuf_release(&text);
	return rc < 0 ? err_set(err, -ENOMEM, "cannot list ranks") : 0;
}
