/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree_options.h"

#include "base/cleanup.h"
#include "base/parse.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	KEY_INCLUDE = 256,
	KEY_PRINT_SORTED,
};

static const struct argp_option options[] = {
	{ "metrics", 'm', "METRIC[,METRIC]", 0,
	  "Show these, six at most, for example time/ms,avg_time/us,time/%,tflop16/s,gbyte/s,util",
	  0 },
	{ "list", 'l', NULL, 0, "List the metrics of this capture", 0 },
	{ "include", KEY_INCLUDE, "REGEX", 0, "Only what is above or below a matching frame", 0 },
	{ "exclude", 'e', "REGEX", 0, "Leave out matching frames and what is below them", 0 },
	{ "threshold", 't', "VALUE", 0, "Only where the first metric is at least VALUE", 0 },
	{ "depth", 'd', "LEVELS", 0, "Only so many levels, the root being the first", 0 },
	{ "format", 'f', "FORMAT", 0,
	  "How frames are called: full, file_function_line, function_line or file_function", 0 },
	{ "print-sorted", KEY_PRINT_SORTED, NULL, 0,
	  "Below the tree, list its frames by the first metric", 0 },
	{ 0 },
};

static void parse_metrics(struct tree_options *opt, const char *text, struct argp_state *state)
{
	struct err err = { "" };
	free(opt->list);
	opt->list = strdup(text);
	if (!opt->list)
		argp_failure(state, 1, ENOMEM, "cannot read options");
	opt->metric_count = 0;
	for (char *rest = opt->list, *item; (item = strsep(&rest, ","));) {
		if (opt->metric_count == TREE_METRICS_MAX)
			argp_error(state, "more than %d metrics", TREE_METRICS_MAX);
		if (tree_metric_parse(item, &opt->metrics[opt->metric_count], &err) < 0)
			argp_error(state, "%s", err.text);
		opt->texts[opt->metric_count++] = item;
	}
}

static void parse_threshold(struct tree_options *opt, const char *text, struct argp_state *state)
{
	char *end;
	errno = 0;
	opt->threshold = strtod(text, &end);
	if (end == text || *end || errno || !isfinite(opt->threshold))
		argp_error(state, "bad threshold '%s'", text);
	opt->has_threshold = true;
}

static void parse_format(struct tree_options *opt, const char *text, struct argp_state *state)
{
	static const char *const names[] = {
		[TREE_FORMAT_USUAL] = "",
		[TREE_FORMAT_FULL] = "full",
		[TREE_FORMAT_FILE_FUNCTION_LINE] = "file_function_line",
		[TREE_FORMAT_FUNCTION_LINE] = "function_line",
		[TREE_FORMAT_FILE_FUNCTION] = "file_function",
	};
	for (size_t i = TREE_FORMAT_FULL; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(text, names[i])) {
			opt->format = (enum tree_format)i;
			return;
		}
	}
	argp_error(state, "no format '%s'", text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct tree_options *opt = state->input;

	switch (key) {
	case 'm':
		parse_metrics(opt, arg, state);
		break;
	case 'l':
		opt->is_list = true;
		break;
	case KEY_INCLUDE:
		opt->include = arg;
		break;
	case 'e':
		opt->exclude = arg;
		break;
	case 't':
		parse_threshold(opt, arg, state);
		break;
	case 'd':
		if (parse_u32(arg, 10, &opt->depth) < 0 || !opt->depth)
			argp_error(state, "bad depth '%s'", arg);
		break;
	case 'f':
		parse_format(opt, arg, state);
		break;
	case KEY_PRINT_SORTED:
		opt->is_sorted = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	opt->is_used = true;
	return 0;
}

const struct argp tree_argp = { .options = options, .parser = parse };
