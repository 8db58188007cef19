/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options that commands which read one capture have alike. A command lists those that it has as
 * children of its argp and lends each what it fills in, in that order, as with filter_options.h:
 *
 *	case ARGP_KEY_INIT:
 *		state->child_inputs[0] = &opt->files;
 *		state->child_inputs[1] = opt->profile.leaf;
 */
#pragma once

#include "base/vec.h"

#include <argp.h>
#include <stdbool.h>

struct file_options {
	const char *path;   /* -i FILE, or the argument; NULL: none was given */
	const char *output; /* -o FILE; NULL: none was given */
};

/* Whether what is written goes to standard output. */
bool file_options_to_stdout(const struct file_options *opt);

/* -i, the argument, and -o; -i and the argument alone. Their input is a `struct file_options`. */
extern const struct argp file_options, input_options;
/* Of commands that make a capture out of many files. */
struct files_options {
	VEC(const char *) paths;
	const char *output; /* set it first to what is usual */
	bool is_quiet;
};

/* -o, -q and the arguments. Its input is a `struct files_options`; that there are none is the command's
 * to notice (ARGP_KEY_END). */
extern const struct argp files_options;

/* --leaf. Its input is an `enum analysis_leaf[ANALYSIS_LEAF_COUNT]`. */
extern const struct argp leaf_options;
