/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a command: one declarative `struct argp` each, to which -h, --help and --usage are
 * added here. In its parser, argp_error() says what is wrong with the command line and exits with
 * CMD_USAGE.
 *
 *	static const struct argp_option options[] = {
 *		{ "input", 'i', "FILE", 0, "Read FILE instead of 'accel-prof.data'", 0 },
 *		{ 0 }
 *	};
 *	static const struct argp argp = { .options = options, .parser = parse,
 *					  .args_doc = "[FILE]", .doc = "What it does" };
 *
 *	int cmd_foo(int argc, char **argv)
 *	{
 *		struct foo_options opt = { .path = NULL };
 *		options_parse(&argp, argc, argv, &opt);
 */
#pragma once

#include <argp.h>

/* Returns only when the command line is good and no help was asked for. */
void options_parse(const struct argp *argp, int argc, char **argv, void *input);
/* The same for a command line whose options end at its first argument: "record -- CMD ARGS". */
void options_parse_in_order(const struct argp *argp, int argc, char **argv, void *input);
