/* SPDX-License-Identifier: Apache-2.0 */
/* accel-prof heatmap: when time was spent, second by second. */
#include "flame/heatmap.h"

#include "analyze/analyze.h"
#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/file_options.h"
#include "cmd/filter_options.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/output_file.h"
#include "cmd/tell.h"
#include "flame/heat.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct heatmap_command {
	struct file_options files;
	const char *title;
	const struct heat_metric *metric; /* NULL: the first that there is */
	struct analysis_profile_options profile;
	enum flame_format format;
	bool full;
};

enum {
	KEY_METRIC = 256,
	KEY_TITLE,
	KEY_FORMAT,
	KEY_FULL,
};

static const struct argp_option options[] = {
	{ "format", KEY_FORMAT, "FORMAT", 0,
	  "'svg' (usual), or 'html': a page where the time that is dragged over is shown as a flame "
	  "graph",
	  0 },
	{ "metric", KEY_METRIC, "NAME", 0,
	  "What the colour means: device-time, idle, cpu-samples, cpu-time or launches", 0 },
	{ "title", KEY_TITLE, "TEXT", 0, "Head the picture with TEXT", 0 },
	{ "full", KEY_FULL, NULL, 0,
	  "Show framework frames and numbered layers one by one in the flame graph", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct heatmap_command *opt = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &opt->profile.filter;
		state->child_inputs[1] = &opt->files;
		return 0;
	case KEY_TITLE:
		opt->title = arg;
		return 0;
	case KEY_FORMAT:
		if (strcmp(arg, "svg") != 0 && strcmp(arg, "html") != 0)
			argp_error(state, "no format '%s': svg or html", arg);
		opt->format = *arg == 'h' ? FLAME_HTML : FLAME_SVG;
		return 0;
	case KEY_METRIC:
		opt->metric = heat_metric_find(arg);
		if (!opt->metric)
			argp_error(state,
				   "no metric '%s' over time: device-time, idle, cpu-samples, "
				   "cpu-time or launches",
				   arg);
		return 0;
	case KEY_FULL:
		opt->full = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int fill(struct heat *h, const struct heat_metric *metric, struct analysis *a,
		const struct heatmap_command *opt, struct err *err)
{
	uint64_t end_ns;
	analysis_span(a, &h->origin_ns, &end_ns);
	h->metric = metric;
	struct event_sink sink = heat_sink(h);
	return analysis_events(a, &opt->profile, &sink, err);
}

/* The metric asked for, else the first that there is something of. */
static int make_heat(struct heat *h, struct analysis *a, const struct heatmap_command *opt,
		     struct err *err)
{
	int rc = -ENODATA;
	if (opt->metric)
		rc = fill(h, opt->metric, a, opt, err);
	for (size_t i = 0; !opt->metric && rc == -ENODATA && heat_metric_at(i); i++) {
		heat_release(h);
		*h = (struct heat){ 0 };
		rc = fill(h, heat_metric_at(i), a, opt, err);
	}
	if (rc == -ENODATA)
		return err_set(err, rc, "nothing to draw: there is no %s here",
			       opt->metric ? opt->metric->name : "time, sample or launch");
	if (rc == -E2BIG)
		return err_set(err, rc, "too much for one picture; choose a part by --time");
	return rc;
}

static int draw(struct analysis *a, const struct input *in, const struct heatmap_command *opt,
		struct err *err)
{
	CLEANUP(output_file_release) struct output_file out = { 0 };
	CLEANUP(heat_release) struct heat h = { 0 };
	const char *command = analysis_command(a);
	const char *slash = strrchr(in->path, '/');
	struct heatmap_options picture = {
		.format = opt->format,
		.title = opt->title ? opt->title
			 : command  ? command
			 : slash    ? slash + 1
				    : in->path,
		.full = opt->full,
	};
	int rc = make_heat(&h, a, opt, err);
	if (rc >= 0)
		rc = output_file_open(&out, opt->files.output, err);
	if (rc >= 0)
		rc = heatmap_write(out.stream, &h, &picture, err);
	return rc < 0 ? rc : output_file_commit(&out, err);
}

int cmd_heatmap(int argc, char **argv)
{
	static const struct argp_child children[] = {
		FILTER_OPTIONS,
		{ .argp = &file_options },
		{ 0 },
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.children = children,
		.args_doc = "[FILE]",
		.doc = "Draw when time was spent, one column for each second, as one SVG.",
	};
	struct heatmap_command opt = { .files = { .path = NULL } };
	CLEANUP(analysis_free) struct analysis *a = NULL;
	struct input *in = NULL;
	struct err err;

	options_parse(&argp, argc, argv, &opt);
	bool to_stdout = file_options_to_stdout(&opt.files);
	if (to_stdout && isatty(STDOUT_FILENO))
		return tell_usage(
			"a picture is nothing for a terminal: add '> out.svg' or '-o out.svg'.");

	int rc = input_open(&in, opt.files.path, &err);
	if (rc == 0)
		rc = analysis_load(&a, in->reader, &(struct analysis_options){ 0 }, &err);
	if (rc == 0)
		rc = draw(a, in, &opt, &err);
	int status = rc < 0 ? tell_error(&err) : CMD_OK;
	analysis_free(TAKE(a));
	return input_close(in, status);
}
