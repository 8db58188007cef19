/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "cmd/bound.h"
#include "cmd/cmd.h"
#include "cmd/tell.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

/* In the order in which people need them. */
static const struct command commands[] = {
	{ "record", cmd_record, "Record a command or running processes" },
	{ "check", cmd_check, "Find out what can be recorded on this machine" },
	{ "import", cmd_import, "Make a capture out of traces of other tools" },
	{ "report", cmd_report, "Show where the time went, as text" },
	{ "flamegraph", cmd_flamegraph, "Draw where the time went, as an SVG" },
	{ "heatmap", cmd_heatmap, "Draw when it went there, second by second" },
	{ "annotate", cmd_annotate, "Show a kernel's source and instructions with samples" },
	{ "diff", cmd_diff, "Show what changed between two captures" },
	{ "export", cmd_export, "Write a capture in the format of another tool" },
	{ "merge", cmd_merge, "Make one capture out of those of ranks, hosts or runs" },
	{ "archive", cmd_archive, "Put a capture and its binaries and sources into one file" },
	{ "dump", cmd_dump, "Show the records of a capture as text" },
	{ "version", cmd_version, "Show the version and what it was built with" },
};

static void print_help(FILE *out)
{
	fputs("Usage: accel-prof [--help] [--version] COMMAND [ARGS]\n\n"
	      "Find out what an AI program and its accelerators spend their time on.\n\n"
	      "  accel-prof record -p PID            # or: -- COMMAND; Ctrl-C ends it\n"
	      "  accel-prof report\n"
	      "  accel-prof flamegraph > out.svg\n\n"
	      "Commands:\n",
	      out);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].help);
	fputs("\n'accel-prof COMMAND --help' shows the options of a command,\n"
	      "'man accel-prof-COMMAND' tells about it at length.\n",
	      out);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	}
	return NULL;
}

static int run_command(const char *name, int argc, char **argv)
{
	CLEANUP_FREE char *full_name = NULL;
	const struct command *command = find_command(name);

	if (!command)
		return tell_usage("'%s' is not an accel-prof command.", name);
	/* What argp puts before its messages. */
	if (asprintf(&full_name, "accel-prof %s", name) < 0)
		return tell("out of memory");
	argv[0] = full_name;
	/* Those two read no file of strangers, and run what needs memory of its own. */
	if (command->run != cmd_record && command->run != cmd_check)
		bound_memory();
	return command->run(argc, argv);
}

/* "accel-prof help [COMMAND]" */
static int run_help(int argc, char **argv)
{
	char help[] = "--help";
	char *help_argv[] = { argv[0], help, NULL };

	if (argc >= 2)
		return run_command(argv[1], 2, help_argv);
	print_help(stdout);
	return CMD_OK;
}

int main(int argc, char **argv)
{
	atexit(tell_at_exit);
	setlocale(LC_CTYPE, "");

	const char *name = argc > 1 ? argv[1] : NULL;
	if (!name) {
		print_help(stderr);
		return CMD_USAGE;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help"))
		return run_help(argc - 1, argv + 1);
	if (!strcmp(name, "--version"))
		return run_command("version", argc - 1, argv + 1);
	if (name[0] == '-')
		return tell_usage("unknown option '%s'.", name);
	return run_command(name, argc - 1, argv + 1);
}
