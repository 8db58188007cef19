/* SPDX-License-Identifier: Apache-2.0 */
/* accel-prof check: what can be recorded here, one thing a line, with what mends it. */
#include "collect/check.h"

#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/tell.h"

#include <stdbool.h>
#include <stdio.h>

static error_t parse(int key, char *arg, struct argp_state *state)
{
	bool *verbose = state->input;

	(void)arg;
	if (key != 'v')
		return ARGP_ERR_UNKNOWN;
	*verbose = true;
	return 0;
}

static void log_stderr(void *data, const char *text)
{
	(void)data;
	tell("%s", text);
}

static void print(void *data, const struct check *check)
{
	static const char *const states[] = {
		[CHECK_YES] = "yes",
		[CHECK_PARTLY] = "partly",
		[CHECK_NO] = "no",
	};

	(void)data;
	printf("%-15s %-7s %s\n", check->name, states[check->state], check->found);
	if (check->mend[0])
		printf("%-15s %-7s mend: %s\n", "", "", check->mend);
}

int cmd_check(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "verbose", 'v', NULL, 0, "Say what the kernel says", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Find out what can be recorded on this machine.",
	};
	bool verbose = false;

	options_parse(&argp, argc, argv, &verbose);
	if (verbose)
		log_set(log_stderr, NULL);
	bool works = check_all(print, NULL);
	puts(works ? "recording works" : "recording does not work");
	return works ? CMD_OK : CMD_FAILED;
}
