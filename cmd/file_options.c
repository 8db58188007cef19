/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/file_options.h"

#include "analyze/analyze.h"

#include <errno.h>
#include <string.h>

enum {
	KEY_LEAF = 256,
};

bool file_options_to_stdout(const struct file_options *opt)
{
	return !opt->output || !strcmp(opt->output, "-");
}

static error_t parse_files(int key, char *arg, struct argp_state *state)
{
	struct file_options *opt = state->input;

	switch (key) {
	case 'i':
	case ARGP_KEY_ARG:
		if (opt->path)
			argp_error(state, "more than one file");
		opt->path = arg;
		return 0;
	case 'o':
		opt->output = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

#define OPTION_INPUT                                                           \
	{                                                                      \
		"input", 'i', "FILE", 0, "Read FILE; '-' is standard input", 0 \
	}

static const struct argp_option both[] = {
	OPTION_INPUT,
	{ "output", 'o', "FILE", 0, "Write FILE instead of standard output", 0 },
	{ 0 },
};

static const struct argp_option input_only[] = {
	OPTION_INPUT,
	{ 0 },
};

const struct argp file_options = { .options = both, .parser = parse_files };
const struct argp input_options = { .options = input_only, .parser = parse_files };

static error_t parse_many(int key, char *arg, struct argp_state *state)
{
	struct files_options *opt = state->input;

	switch (key) {
	case 'o':
		opt->output = arg;
		return 0;
	case 'q':
		opt->is_quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		return vec_push(&opt->paths, arg) < 0 ? ENOMEM : 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option many[] = {
	{ "output", 'o', "FILE", 0, "Write to FILE ('accel-prof.data'); '-' is standard output",
	  0 },
	{ "quiet", 'q', NULL, 0, "Do not say what became of the files", 0 },
	{ 0 },
};

const struct argp files_options = { .options = many, .parser = parse_many };

static error_t parse_leaf(int key, char *arg, struct argp_state *state)
{
	struct err err;

	if (key != KEY_LEAF)
		return ARGP_ERR_UNKNOWN;
	if (analysis_leaf_parse(arg, state->input, &err) < 0)
		argp_error(state, "%s", err.text);
	return 0;
}

static const struct argp_option leaf[] = {
	{ "leaf", KEY_LEAF, "WHAT[,WHAT]", 0,
	  "What to show below an accelerator kernel, in this order: function, source, instruction, "
	  "stall; or its text and place apart: insn, offset",
	  0 },
	{ 0 },
};

const struct argp leaf_options = { .options = leaf, .parser = parse_leaf };
