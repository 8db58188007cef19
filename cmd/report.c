/* SPDX-License-Identifier: Apache-2.0 */
/* accel-prof report: what the accelerator's time went to, as text. */
#include "analyze/analyze.h"
#include "analyze/groups.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "cmd/by.h"
#include "cmd/cmd.h"
#include "cmd/filter_options.h"
#include "cmd/input.h"
#include "cmd/next.h"
#include "cmd/options.h"
#include "cmd/tell.h"
#include "cmd/tree_options.h"
#include "cmd/verdict.h"
#include "cmd/view.h"
#include "export/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* What fits an ordinary terminal, a mail and a bug report. */
#define REPORT_COLUMNS 100
#define REPORT_LINES   40
/* Rows of a view that was asked for by name. */
#define VIEW_ROWS 35
/* Of each part. */
#define VIEW_ROWS_BY 8
/* The first page: activities of the host, and lines that each table gets at least. */
#define PAGE_ACTIVITIES      7
#define PAGE_CODE_LINES      7
#define PAGE_KERNELS_LINES   7
#define PAGE_FUNCTIONS_LINES 5

enum format {
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_CSV,
};

/* Most metrics that a view needs. */
#define VIEW_METRICS_MAX 3

struct view_ops {
	const char *name;
	int (*make)(struct sheet *t, const struct view *v, struct err *err);
	const char *metrics[VIEW_METRICS_MAX]; /* those with data are in the profile */
	bool has_places;                       /* needs what is below kernels; only on its own */
};

static const struct view_ops views[] = {
	{ "kernels", view_kernels, { "device-time", "launches", "device-samples" }, false },
	{ "code", view_code, { "wall", "launches", "idle-host" }, false },
	{ "functions", view_functions, { "cpu-samples", "cpu-time" }, false },
	{ "tree", view_tree, { NULL }, true }, /* the metrics to be shown */
	{ "lines", view_lines, { "device-samples" }, true },
	{ "instructions", view_instructions, { "device-samples" }, true },
	{ "stalls", view_stalls, { "device-samples" }, true },
	{ "ops", view_ops, { "device-time", "launches", "idle-host" }, false },
	{ "modules", view_modules, { "device-time", "launches", "idle-host" }, false },
	{ "shapes", view_shapes, { NULL }, false },
	{ "roofline", view_roofline, { NULL }, false },
	{ "steps", view_steps, { NULL }, false },
	{ "phases", view_phases, { NULL }, false },
	{ "memory", view_memory, { "memory-peak", "memory-allocated", "allocations" }, false },
	{ "ranks", view_ranks, { NULL }, false },
	{ "syncs", view_syncs, { "syncs", "sync-wait", "sync-idle" }, false },
	{ "queue", view_queue, { NULL }, false },
	{ "overlap", view_overlap, { NULL }, false },
	{ "processes", view_processes, { NULL }, false },
	{ "where", view_where, { NULL }, false },
	{ "idle-host", view_idle_host, { "idle-host" }, false },
	{ "quality", view_quality, { NULL }, false },
	{ "metrics", view_metrics, { NULL }, true }, /* all of them */
};

struct report_options {
	VEC(const char *) paths; /* ranks of one job */
	struct analysis_filter filter;
	const struct view_ops *view; /* NULL: the first page */
	const char *sort;
	size_t limit; /* 0: not given */
	bool full, no_inline;
	enum format format;
	const char *by; /* NULL: not split */
	struct tree_options tree;
};

enum {
	KEY_SORT = 256,
	KEY_BY,
	KEY_VIEW,
	KEY_JSON,
	KEY_CSV,
	KEY_FULL,
	KEY_NO_INLINE,
	KEY_STDIO,
};

static const struct argp_option options[] = {
	{ "input", 'i', "FILE", 0, "Read FILE; '-' is standard input; several are ranks of one job",
	  0 },
	{ "view", KEY_VIEW, "VIEW", 0,
	  "Show one table: kernels, code, functions, tree, ops, modules, shapes, roofline, "
	  "steps, phases, memory, ranks, syncs, "
	  "lines, instructions, stalls, "
	  "processes, queue, overlap, where, idle-host, quality or metrics",
	  0 },
	{ "sort", KEY_SORT, "KEY", 0, "Sort by this column; for the tree, the metric to show", 0 },
	{ "by", KEY_BY, "PART", 0,
	  "Make the table for each device, stream, process, rank, thread, step or scope", 0 },
	{ "limit", 'n', "ROWS", 0, "Show at most so many rows", 0 },
	{ "full", KEY_FULL, NULL, 0, "Show framework frames and numbered layers one by one", 0 },
	{ "no-inline", KEY_NO_INLINE, NULL, 0, "Leave out inlined functions of host code", 0 },
	{ "json", KEY_JSON, NULL, 0, "Write JSON", 0 },
	{ "csv", KEY_CSV, NULL, 0, "Write the table as CSV", 0 },
	{ "stdio", KEY_STDIO, NULL, 0, "Accepted for perf's sake: it is always so", 0 },
	{ 0 },
};

static const struct view_ops *find_view(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
		if (!strcmp(views[i].name, name))
			return &views[i];
	}
	return NULL;
}

static void set_format(struct report_options *opt, enum format format, struct argp_state *state)
{
	if (opt->format != FORMAT_TEXT && opt->format != format)
		argp_error(state, "--json and --csv exclude each other");
	opt->format = format;
}

/* Options of the tree mean the tree. */
static void take_tree(struct report_options *opt, struct argp_state *state)
{
	if (!opt->tree.is_used)
		return;
	if (opt->tree.is_list || !opt->view)
		opt->view = find_view(opt->tree.is_list ? "metrics" : "tree");
	else if (opt->view->make != view_tree)
		argp_error(state, "view '%s' has no use for options of the tree", opt->view->name);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct report_options *opt = state->input;
	uint32_t rows;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &opt->filter;
		state->child_inputs[1] = &opt->tree;
		return 0;
	case ARGP_KEY_END:
		take_tree(opt, state);
		return 0;
	case KEY_SORT:
		opt->sort = arg;
		return 0;
	case KEY_BY:
		if (!analysis_groups_known(arg))
			argp_error(state, "cannot make a table by '%s'", arg);
		opt->by = arg;
		return 0;
	case 'i':
	case ARGP_KEY_ARG:
		return vec_push(&opt->paths, arg) < 0 ? ENOMEM : 0;
	case 'n':
		if (parse_u32(arg, 10, &rows) < 0 || !rows)
			argp_error(state, "bad number of rows '%s'", arg);
		opt->limit = rows;
		return 0;
	case KEY_VIEW:
		opt->view = find_view(arg);
		if (!opt->view)
			argp_error(state, "no view '%s'", arg);
		return 0;
	case KEY_JSON:
		set_format(opt, FORMAT_JSON, state);
		return 0;
	case KEY_CSV:
		set_format(opt, FORMAT_CSV, state);
		return 0;
	case KEY_FULL:
		opt->full = true;
		return 0;
	case KEY_NO_INLINE:
		opt->no_inline = true;
		return 0;
	case KEY_STDIO:
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- text ---- */

/* A terminal may be narrower; nothing is made wider, lines of 100 can be read. */
static unsigned report_width(void)
{
	struct winsize size;
	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
	    size.ws_col >= 40 && size.ws_col < REPORT_COLUMNS)
		return size.ws_col;
	return REPORT_COLUMNS;
}

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

static int add_view(struct strbuf *out, const struct view *v, const struct view_ops *ops,
		    unsigned width, struct err *err)
{
	struct sheet t = { 0 };
	int rc = ops->make(&t, v, err);
	if (!rc && sheet_rows(&t))
		rc = sheet_render(&t, width, out);
	sheet_release(&t);
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
		return add_view(out, v, ops, width, err);

	page.limit = lines;
	int rc = ops->make(&t, &page, err);
	size_t all = sheet_rows(&t), fitting = rows_fitting(&t, lines);
	sheet_release(&t);
	if (rc < 0)
		return rc;
	/* One row goes to what sums up the rest. */
	page.limit = fitting < all && fitting > 1 ? fitting - 1 : fitting;
	return page.limit ? add_view(out, &page, ops, width, err) : 0;
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
	int rc = add_fitting(&text, v, find_view(name), width, lines, err);
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
	size_t below = (has_functions ? PAGE_FUNCTIONS_LINES + 1 : 0) + after;
	struct view page = *v;
	page.is_page = true;

	int rc = add_where(out, &page, width, err);
	/* Where the host is what is waited for, its code is what matters; the kernels then stand
	 * below without those who launched them. */
	if (!rc && is_host) {
		page.sort = NULL;
		page.without_callers = true;
		rc = add_table(out, &page, "code", width,
			       room_left(out, below + PAGE_KERNELS_LINES + 2, PAGE_CODE_LINES),
			       err);
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

static int add_page(struct strbuf *out, const struct view *v, unsigned width, struct err *err)
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

/* The frames of the tree once more, one by one. */
static const struct view_ops sorted_view = { "sorted", view_tree_sorted, { NULL }, true };

static int add_sorted(struct strbuf *out, const struct report_options *opt, const struct view *v,
		      unsigned width, struct err *err)
{
	const char *metric = opt->tree.metric_count ? opt->tree.texts[0]
			     : v->sort              ? v->sort
						    : analysis_default_metric(v->a);
	if (!out->len)
		return 0;
	strbuf_printf(out, "\nSorted by %s\n", metric);
	return add_view(out, v, &sorted_view, width, err);
}

static int print_text(const struct report_options *opt, struct view *v, struct err *err)
{
	struct strbuf out = { 0 };
	unsigned width = report_width();
	int rc;

	if (opt->view) {
		v->limit = opt->limit ? opt->limit : VIEW_ROWS;
		rc = add_view(&out, v, opt->view, width, err);
		if (!rc && opt->view->make == view_tree && opt->tree.is_sorted)
			rc = add_sorted(&out, opt, v, width, err);
		if (!rc && !out.len)
			tell("nothing to show in view '%s'", opt->view->name);
	} else {
		v->limit = opt->limit;
		rc = add_page(&out, v, width, err);
	}
	if (!rc && strbuf_finish(&out) < 0)
		rc = err_set(err, -ENOMEM, "cannot make the report");
	if (!rc)
		fwrite(strbuf_text(&out), 1, out.len, stdout);
	strbuf_release(&out);
	return rc;
}

/* ---- for programs ---- */

static int write_csv(const struct report_options *opt, struct view *v, struct err *err)
{
	const struct view_ops *ops = opt->view ? opt->view : find_view("kernels");
	struct sheet t = { 0 };
	v->limit = opt->limit ? opt->limit : SIZE_MAX - 1;
	if (ops->make == view_tree && opt->tree.is_sorted)
		ops = &sorted_view;
	int rc = ops->make(&t, v, err);
	if (!rc)
		rc = sheet_csv(stdout, &t, err);
	sheet_release(&t);
	return rc;
}

static int json_view(struct json *j, const struct view *v, const struct view_ops *ops,
		     struct err *err)
{
	struct sheet t = { 0 };
	int rc = ops->make(&t, v, err);
	if (!rc) {
		json_key(j, t.name);
		sheet_json(j, &t);
	}
	sheet_release(&t);
	return rc;
}

static int write_json(const struct report_options *opt, struct view *v, struct err *err)
{
	struct json *j = NULL;
	int rc = 0;
	if (json_new(&j, stdout) < 0)
		return err_set(err, -ENOMEM, "cannot write JSON");
	v->limit = opt->limit ? opt->limit : SIZE_MAX - 1;
	json_object(j);
	json_key(j, "format");
	json_text(j, "accel-prof report 1");
	if (!opt->view) {
		struct hints hints = { .count = 0 };
		verdict_json(j, v->s);
		rc = analysis_hints(v->a, v->p, v->s, v->filter, &hints, err);
		next_json(j, &hints);
		hints_release(&hints);
	}
	for (size_t i = 0; i < ARRAY_SIZE(views) && !rc; i++) {
		struct view each = *v;
		if (opt->view ? &views[i] != opt->view : views[i].has_places)
			continue;
		if (!opt->view && views[i].make != view_kernels)
			each.sort = NULL;
		rc = json_view(j, &each, &views[i], err);
	}
	if (!rc && opt->tree.is_sorted)
		rc = json_view(j, v, &sorted_view, err);
	json_object_end(j);
	if (!rc)
		rc = json_finish(j, err);
	json_free(j);
	return rc;
}

/* The metrics that the views to be shown need and that have data. */
struct wanted {
	/* and those of the hints, or of the tree */
	const char *list[ARRAY_SIZE(views) * VIEW_METRICS_MAX +
			 TREE_METRICS_MAX * TREE_METRIC_PARTS + 16];
	size_t count;
};

static void want(struct wanted *w, const struct analysis *a, const char *metric)
{
	for (size_t i = 0; i < w->count; i++) {
		if (!strcmp(w->list[i], metric))
			return;
	}
	if (analysis_has_metric(a, metric))
		w->list[w->count++] = metric;
}

static void want_hints(struct wanted *w, const struct analysis *a)
{
	static const char *const metrics[] = HINT_METRICS;
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
		want(w, a, metrics[i]);
}

static void want_tree(struct wanted *w, const struct report_options *opt, const struct analysis *a)
{
	if (!opt->tree.metric_count)
		want(w, a, opt->sort ? opt->sort : analysis_default_metric(a));
	for (size_t i = 0; i < opt->tree.metric_count; i++) {
		const struct tree_metric *m = &opt->tree.metrics[i];
		for (size_t k = 0; k < m->part_count; k++)
			want(w, a, m->parts[k]);
		/* Asked for by name: analysis_profile() says why there is none. */
		if (!analysis_has_metric(a, m->parts[0]))
			w->list[w->count++] = m->parts[0];
	}
}

static void want_views(struct wanted *w, const struct report_options *opt, const struct analysis *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
		if (opt->view && opt->view != &views[i])
			continue;
		for (size_t k = 0; k < VIEW_METRICS_MAX && views[i].metrics[k]; k++)
			want(w, a, views[i].metrics[k]);
	}
	if (!opt->view)
		want_hints(w, a);
	if (opt->view && opt->view->make == view_metrics) {
		const char *metric;
		for (size_t i = 0; (metric = analysis_metric(i)); i++)
			want(w, a, metric);
	}
	if (opt->view && opt->view->make == view_tree)
		want_tree(w, opt, a);
}

/* No more than what is shown: each metric costs time for every record and room on every node. */
static int make_profile(struct profile **ret, const struct report_options *opt, struct analysis *a,
			struct err *err)
{
	bool is_tree = opt->view && opt->view->make == view_tree;
	struct wanted w = { .count = 0 };
	struct analysis_profile_options what = {
		.filter = opt->filter,
		/* Only the tree gets shorter by folding; the others go by single frames. */
		.full = opt->full || !is_tree,
		.no_inline = opt->no_inline,
		.kernels_only = !opt->view || !opt->view->has_places,
	};

	want_views(&w, opt, a);
	what.metrics = w.list;
	what.metric_count = w.count;
	if (w.count)
		return analysis_profile(a, &what, ret, err);
	CLEANUP(profile_free) struct profile *empty = NULL;
	if (profile_new(&empty) < 0 || profile_finish(empty) < 0)
		return err_set(err, -ENOMEM, "cannot make the report");
	*ret = TAKE(empty);
	return 0;
}

/* ---- the same table for each part ---- */

struct part_maker {
	struct report_options *opt; /* whose tree.columns outlive the table */
	struct analysis *a;
	size_t limit;
};

static int make_part(void *data, const struct analysis_filter *filter, struct sheet *t,
		     struct err *err)
{
	const struct part_maker *m = data;
	CLEANUP(profile_free) struct profile *p = NULL;
	struct report_options opt = *m->opt;
	struct analysis_summary s;

	opt.filter = *filter;
	int rc = make_profile(&p, &opt, m->a, err);
	rc = rc ? rc : analysis_summarize(m->a, filter, &s, err);
	if (rc < 0)
		return rc;
	struct view v = { .a = m->a,
			  .p = p,
			  .s = &s,
			  .filter = filter,
			  .sort = opt.sort,
			  .limit = m->limit,
			  .tree = &m->opt->tree };
	rc = opt.view->make(t, &v, err);
	analysis_summary_release(&s);
	return rc;
}

static int write_by_json(struct by *by, struct err *err)
{
	struct json *j = NULL;
	if (json_new(&j, stdout) < 0)
		return err_set(err, -ENOMEM, "cannot write JSON");
	json_object(j);
	json_key(j, "format");
	json_text(j, "accel-prof report 1");
	if (by->columns) {
		json_key(j, by->sheet.name);
		sheet_json(j, &by->sheet);
	}
	json_object_end(j);
	int rc = json_finish(j, err);
	json_free(j);
	return rc;
}

static int write_by(const struct report_options *opt, struct by *by, struct err *err)
{
	if (opt->format == FORMAT_JSON)
		return write_by_json(by, err);
	if (!by->columns || !sheet_rows(&by->sheet)) {
		tell("nothing to show by %s", opt->by);
		return 0;
	}
	if (opt->format == FORMAT_CSV)
		return sheet_csv(stdout, &by->sheet, err);
	if (by->left_out)
		tell("%zu more parts are not shown", by->left_out);
	return sheet_print(stdout, &by->sheet, report_width(), err);
}

static int print_by(struct report_options *opt, struct analysis *a, struct err *err)
{
	struct part_maker m = {
		.opt = opt,
		.a = a,
		.limit = opt->limit                   ? opt->limit
			 : opt->format == FORMAT_TEXT ? VIEW_ROWS_BY
						      : SIZE_MAX - 1,
	};
	struct by by;

	opt->view = opt->view ? opt->view : find_view("kernels");
	int rc = by_fill(&by, a, &opt->filter, opt->by,
			 &(struct by_maker){ .make = make_part, .data = &m }, err);
	rc = rc ? rc : write_by(opt, &by, err);
	by_release(&by);
	return rc;
}

static int print_report(struct report_options *opt, struct analysis *a, struct err *err)
{
	CLEANUP(profile_free) struct profile *p = NULL;
	struct analysis_summary s;

	int rc = make_profile(&p, opt, a, err);
	if (rc < 0)
		return rc;
	rc = analysis_summarize(a, &opt->filter, &s, err);
	if (rc < 0)
		return rc;
	struct view v = { .a = a,
			  .p = p,
			  .s = &s,
			  .filter = &opt->filter,
			  .sort = opt->sort,
			  .tree = &opt->tree };
	if (opt->format == FORMAT_JSON)
		rc = write_json(opt, &v, err);
	else if (opt->format == FORMAT_CSV)
		rc = write_csv(opt, &v, err);
	else
		rc = print_text(opt, &v, err);
	analysis_summary_release(&s);
	return rc;
}

int cmd_report(int argc, char **argv)
{
	const struct argp_child children[] = {
		FILTER_OPTIONS,
		{ .argp = &tree_argp, .header = "For the tree:", .group = 2 },
		{ 0 },
	};
	const struct argp argp = {
		.options = options,
		.parser = parse,
		.children = children,
		.args_doc = "[FILE...]",
		.doc = "Show where the time of a program and its accelerators went.",
	};
	struct report_options opt = { .view = NULL };
	CLEANUP(analysis_free) struct analysis *a = NULL;
	struct input *in = NULL;
	struct err err = { "" };

	options_parse(&argp, argc, argv, &opt);
	int rc = input_open_ranks(&in, opt.paths.data, opt.paths.len, &err);
	if (rc < 0) {
		vec_release(&opt.paths);
		free(opt.tree.list);
		return tell_error(&err);
	}
	rc = analysis_load(&a, in->reader, &(struct analysis_options){ 0 }, &err);
	if (rc == 0)
		rc = opt.by ? print_by(&opt, a, &err) : print_report(&opt, a, &err);
	free(opt.tree.list);
	int status = rc < 0 ? tell_error(&err) : CMD_OK;
	if (fflush(stdout) != 0)
		status = CMD_FAILED; /* tell_at_exit() says why */
	analysis_free(TAKE(a));      /* before the reader, whose strings it shows */
	status = input_close(in, status);
	vec_release(&opt.paths); /* which are being read until then */
	return status;
}
