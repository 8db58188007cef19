/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/report.h"

#include "cmd/next.h"
#include "cmd/trust.h"
#include "cmd/verdict.h"

#include <string.h>

/* A page of a terminal, a mail and a bug report. */
#define REPORT_LINES 40
/* The first page: activities of the host, and lines that each table gets at least. */
#define PAGE_ACTIVITIES      7
#define PAGE_CODE_LINES      7
#define PAGE_KERNELS_LINES   7
#define PAGE_FUNCTIONS_LINES 5
/* Where there is no device, and so no kernels: functions share the page with code. */
#define PAGE_HOST_LINES 15

static size_t count_lines(const struct strbuf *text)
{
	size_t lines = 0;
	for (size_t i = 0; i < text->len; i++)
		lines += text->data[i] == '\n';
	return lines;
}

/* The longest line of a text. */
static unsigned text_columns(const char *text)
{
	size_t most = 0;
	while (*text) {
		size_t size = strcspn(text, "\n");
		most = size > most ? size : most;
		text += size + (text[size] == '\n');
	}
	return (unsigned)most;
}

/* Two texts side by side, the second from @column on. */
static void add_beside(struct strbuf *out, const char *left, const char *right, unsigned column)
{
	while (*left || *right) {
		size_t size = strcspn(left, "\n"), other = strcspn(right, "\n");
		strbuf_add(out, left, size);
		if (other)
			strbuf_printf(out, "%*s", size < column ? (int)(column - size) : 1, "");
		strbuf_add(out, right, other);
		strbuf_putc(out, '\n');
		left += size + (left[size] == '\n');
		right += other + (right[other] == '\n');
	}
}

/* Whether the devices are idle enough for it to matter what the host did meanwhile: 5 %. */
static bool is_idle(const struct analysis_summary *s)
{
	uint64_t all = 0;
	for (int i = 0; i < ACCOUNT_STATE_COUNT; i++)
		all += s->all.ns[i];
	return all - s->all.ns[ACCOUNT_BUSY] > all / 20;
}

/* Where the time goes, and to the right of it what the host did meanwhile. */
static int add_where(struct strbuf *out, const struct view *v, unsigned width, struct err *err)
{
	struct sheet where = { 0 }, host = { 0 };
	struct strbuf left = { 0 }, right = { 0 };
	struct view page = *v;
	unsigned column = 0;

	page.limit = PAGE_ACTIVITIES;
	int rc = view_where(&where, &page, err);
	if (!rc && is_idle(v->s))
		rc = view_idle_host(&host, &page, err);
	/* "busy" and "total" alone say nothing that the verdict has not said. */
	if (!rc && sheet_rows(&where) > 2)
		rc = sheet_render(&where, width * 11 / 20, &left);
	if (!rc && left.len && sheet_rows(&host)) {
		column = text_columns(strbuf_text(&left)) + 3;
		rc = sheet_render(&host, width - column, &right);
	}
	if (!rc && left.len) {
		strbuf_putc(out, '\n');
		add_beside(out, strbuf_text(&left), strbuf_text(&right), column);
	}
	strbuf_release(&left);
	strbuf_release(&right);
	sheet_release(&where);
	sheet_release(&host);
	return rc;
}

/* How many of a table's rows, with the notes below them, @lines have room for. */
static size_t rows_fitting(const struct sheet *t, size_t lines)
{
	size_t rows = 0, used = 1, note = 0; /* the titles */
	for (; rows < sheet_rows(t); rows++) {
		size_t height = 1;
		while (note < t->notes.len && t->notes.data[note].row == rows) {
			height++;
			note++;
		}
		if (used + height > lines)
			break;
		used += height;
	}
	return rows;
}

/* As many rows as asked for, or as @lines have room for. */
static int add_fitting(struct strbuf *out, const struct view *v, const struct view_ops *ops,
		       unsigned width, size_t lines, struct err *err)
{
	struct sheet t = { 0 };
	struct view page = *v;
	if (v->limit)
		return report_view_add(out, v, ops, width, err);

	page.limit = lines;
	int rc = ops->make(&t, &page, err);
	size_t all = sheet_rows(&t), fitting = rows_fitting(&t, lines);
	sheet_release(&t);
	if (rc < 0)
		return rc;
	/* One row goes to what sums up the rest. */
	page.limit = fitting < all && fitting > 1 ? fitting - 1 : fitting;
	return page.limit ? report_view_add(out, &page, ops, width, err) : 0;
}

/* The lines that are left when the tables to come need @reserved. */
static size_t room_left(const struct strbuf *out, size_t reserved, size_t least)
{
	size_t used = count_lines(out) + reserved;
	return used + least < REPORT_LINES ? REPORT_LINES - used : least;
}

/* One more table, with a blank line before it when there is one already. */
static int add_table(struct strbuf *out, const struct view *v, const char *name, unsigned width,
		     size_t lines, struct err *err)
{
	struct strbuf text = { 0 };
	int rc = add_fitting(&text, v, report_view_find(name), width, lines, err);
	if (!rc && text.len) {
		strbuf_putc(out, '\n');
		strbuf_add(out, text.data, text.len);
	}
	strbuf_release(&text);
	return rc;
}

static bool has_any(const struct profile *p, const char *a, const char *b)
{
	return profile_metric_find(p, a) >= 0 || profile_metric_find(p, b) >= 0;
}

/* Without Python and somebody's own code, code would be the functions once more. */
static bool has_code(const struct profile *p)
{
	for (uint32_t i = 0; i < profile_frame_count(p); i++) {
		struct frame f = profile_frame_get(p, i);
		if (f.kind == FRAME_PYTHON || f.class == FRAME_CLASS_OWN ||
		    f.class == FRAME_CLASS_MODEL)
			return true;
	}
	return false;
}

/* @after: what stands below the tables. */
static int add_tables(struct strbuf *out, const struct view *v, unsigned width, size_t after,
		      struct err *err)
{
	bool has_kernels = has_any(v->p, "launches", "device-time") ||
			   has_any(v->p, "device-samples", "device-samples");
	bool has_functions = has_any(v->p, "cpu-samples", "cpu-time");
	bool is_host = v->s->verdict == VERDICT_HOST || v->s->verdict == VERDICT_LAUNCH;
	/* What the host does is in another table and in the hints then. */
	has_functions &= !is_host || !after;
	size_t functions = has_kernels ? PAGE_FUNCTIONS_LINES : PAGE_HOST_LINES;
	size_t below = (has_functions ? functions + 1 : 0) + after;
	size_t kernels = has_kernels ? PAGE_KERNELS_LINES + 1 : 0;
	struct view page = *v;
	page.is_page = true;

	int rc = add_where(out, &page, width, err);
	/* Where the host is what is waited for, its code is what matters; the kernels then stand
	 * below without those who launched them. */
	if (!rc && (is_host || (!has_kernels && has_code(v->p)))) {
		page.sort = NULL;
		page.without_callers = true;
		rc = add_table(out, &page, "code", width,
			       room_left(out, below + kernels + 1, PAGE_CODE_LINES), err);
	}
	page.sort = v->sort;
	if (!rc && has_kernels)
		rc = add_table(out, &page, "kernels", width,
			       room_left(out, below + 1, PAGE_KERNELS_LINES), err);
	if (has_kernels)
		page.sort = NULL; /* it was for the first table */
	bool has_room = count_lines(out) + 1 + PAGE_FUNCTIONS_LINES + after <= REPORT_LINES;
	if (!rc && has_functions && has_room)
		rc = add_table(out, &page, "functions", width,
			       room_left(out, 1 + after, PAGE_FUNCTIONS_LINES), err);
	return rc;
}

int report_page_add(struct strbuf *out, const struct view *v, unsigned width, struct err *err)
{
	struct hints hints;
	struct strbuf next = { 0 };
	int rc = analysis_hints(v->a, v->p, v->s, v->filter, &hints, err);
	if (rc < 0)
		return rc;
	next_lines(&next, &hints, width);
	hints_release(&hints);
	verdict_lines(out, v, width);
	trust_lines(out, v, width);
	rc = add_tables(out, v, width, count_lines(&next), err);
	strbuf_add(out, next.data, next.len);
	strbuf_release(&next);
	return rc;
}
