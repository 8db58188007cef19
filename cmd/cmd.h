/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subcommands. Each is one file, cmd/NAME.c, with one function of this shape; to add one:
 * declare it here, give it a line in the table of main.c, write cmd/man/accel-prof-NAME.1.
 *
 * A command gets argv[0] = "accel-prof NAME", parses with options_parse() (options.h), says what
 * went wrong with tell() (tell.h) and returns an enum cmd_status. It may also return another exit
 * status that its man page names.
 */
#pragma once

enum cmd_status {
	CMD_OK = 0,
	CMD_FAILED = 1,
	CMD_USAGE = 129, /* as perf and git */
};

int cmd_archive(int argc, char **argv);
int cmd_annotate(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_flamegraph(int argc, char **argv);
int cmd_heatmap(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_version(int argc, char **argv);
