/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that say which part of a capture is meant, alike in every command that reads one.
 * A command lists them as a child of its argp and lends them its filter:
 *
 *	case ARGP_KEY_INIT:
 *		state->child_inputs[0] = &opt->filter;
 *		return 0;
 *	...
 *	static const struct argp_child children[] = { FILTER_OPTIONS, { 0 } };
 */
#pragma once

#include "analyze/analyze.h"

#include <argp.h>

/* Its input is a `struct analysis_filter`. */
extern const struct argp filter_options;

/* As a child of an argp. */
#define FILTER_OPTIONS                                                                      \
	{                                                                                   \
		.argp = &filter_options, .header = "Which part of the capture:", .group = 1 \
	}
