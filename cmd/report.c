/* SPDX-License-Identifier: Apache-2.0 */
/* accel-prof report: what the accelerator's time went to, as text. */
#include "cmd/report.h"

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
#include "cmd/verdict.h"
#include "export/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* What fits an ordinary terminal, a mail and a bug report. */
#define REPORT_COLUMNS 100
/* Rows of a view that was asked for by name. */
#define VIEW_ROWS 35
/* Of each part. */
#define VIEW_ROWS_BY 8

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

static void set_format(struct report_options *opt, enum format format, struct argp_state *state)
{
	if (opt->format != FORMAT_TEXT && opt->format != format)
		argp_error(state, "--json and --csv exclude each other");
	opt->format = format;
}

static void no_view(struct argp_state *state, const char *name)
{
	struct strbuf list = { 0 };
	for (size_t i = 0; i < REPORT_VIEWS; i++)
		strbuf_printf(&list, "%s%s", i ? ", " : "", report_views[i].name);
	argp_error(state, "no view '%s': %s", name, strbuf_text(&list));
}

/* Options of the tree mean the tree. */
static void take_tree(struct report_options *opt, struct argp_state *state)
{
	if (!opt->tree.is_used)
		return;
	if (opt->tree.is_list || !opt->view)
		opt->view = report_view_find(opt->tree.is_list ? "metrics" : "tree");
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
		opt->view = report_view_find(arg);
		if (!opt->view)
			no_view(state, arg);
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
	return report_view_add(out, v, &sorted_view, width, err);
}

static int print_text(const struct report_options *opt, struct view *v, struct err *err)
{
	struct strbuf out = { 0 };
	unsigned width = report_width();
	int rc;

	if (opt->view) {
		v->limit = opt->limit ? opt->limit : VIEW_ROWS;
		rc = report_view_add(&out, v, opt->view, width, err);
		if (!rc && opt->view->make == view_tree && opt->tree.is_sorted)
			rc = add_sorted(&out, opt, v, width, err);
		if (!rc && !out.len)
			tell("nothing to show in view '%s'", opt->view->name);
	} else {
		v->limit = opt->limit;
		rc = report_page_add(&out, v, width, err);
	}
	if (!rc && strbuf_finish(&out) < 0)
		rc = err_set(err, -ENOMEM, "cannot make the report");
	if (!rc)
		fwrite(strbuf_text(&out), 1, out.len, stdout);
	strbuf_release(&out);
	return rc;
}

/* ---- for programs ---- */

/* The one table where none is named. */
static const struct view_ops *usual_view(const struct analysis *a)
{
	return report_view_find(strncmp(analysis_default_metric(a), "cpu-", 4) ? "kernels"
									       : "code");
}

static int write_csv(const struct report_options *opt, struct view *v, struct err *err)
{
	const struct view_ops *ops = opt->view ? opt->view : usual_view(v->a);
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
	for (size_t i = 0; i < REPORT_VIEWS && !rc; i++) {
		struct view each = *v;
		if (opt->view ? &report_views[i] != opt->view : report_views[i].has_places)
			continue;
		if (!opt->view && report_views[i].make != view_kernels)
			each.sort = NULL;
		rc = json_view(j, &each, &report_views[i], err);
	}
	if (!rc && opt->tree.is_sorted)
		rc = json_view(j, v, &sorted_view, err);
	json_object_end(j);
	if (!rc)
		rc = json_finish(j, err);
	json_free(j);
	return rc;
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
	int rc = report_profile_make(&p, &opt, m->a, err);
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

	opt->view = opt->view ? opt->view : usual_view(a);
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

	int rc = report_profile_make(&p, opt, a, err);
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
