/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/options.h"

#include "cmd/cmd.h"
#include "cmd/tell.h"

#include <stdlib.h>
#include <string.h>

enum {
	KEY_HELP = 'h',
	KEY_USAGE = 0x1000, /* no short form */
};

static error_t parse_help(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	switch (key) {
	case KEY_HELP:
		argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
		return 0;
	case KEY_USAGE:
		argp_state_help(state, state->out_stream, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* argp's own help option has -? for a short form, and nothing else can have that name beside it. */
static void parse(const struct argp *argp, int argc, char **argv, void *input, unsigned flags)
{
	static const struct argp_option help_options[] = {
		{ "help", KEY_HELP, NULL, 0, "Show this help", -1 },
		{ "usage", KEY_USAGE, NULL, 0, "Show a short usage message", -1 },
		{ 0 },
	};
	static const struct argp help_argp = { .options = help_options, .parser = parse_help };
	const struct argp_child children[] = {
		{ .argp = argp },
		{ .argp = &help_argp, .group = -1 },
		{ 0 },
	};
	const struct argp whole = { .children = children };

	argp_err_exit_status = CMD_USAGE;
	error_t rc = argp_parse(&whole, argc, argv, flags | ARGP_NO_HELP, NULL, input);
	if (rc)
		exit(tell_usage("cannot parse the command line: %s.", strerror(rc)));
}

void options_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	parse(argp, argc, argv, input, 0);
}

void options_parse_in_order(const struct argp *argp, int argc, char **argv, void *input)
{
	parse(argp, argc, argv, input, ARGP_IN_ORDER);
}
