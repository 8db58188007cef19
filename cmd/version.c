/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cmd.h"
#include "cmd/options.h"

#include "accel_prof_version.h"

#include <bpf/libbpf.h>
#include <elfutils/libdwfl.h>
#include <elfutils/version.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

static void print_library(const char *name, const char *built, const char *running)
{
	printf("%s %s", name, built);
	if (strcmp(built, running) != 0)
		printf(" (running with %s)", running);
	putchar('\n');
}

int cmd_version(int argc, char **argv)
{
	static const struct argp argp = {
		.doc = "Show the version and what it was built with.",
	};
	char bpf[32], elf[32];

	options_parse(&argp, argc, argv, NULL);
	printf("accel-prof %s%s%s\n", ACCEL_PROF_VERSION, *ACCEL_PROF_REVISION ? " " : "",
	       ACCEL_PROF_REVISION);
	printf("compiler %s\n", ACCEL_PROF_COMPILER);
	snprintf(bpf, sizeof(bpf), "v%d.%d", LIBBPF_MAJOR_VERSION, LIBBPF_MINOR_VERSION);
	print_library("libbpf", bpf, libbpf_version_string());
	snprintf(elf, sizeof(elf), "0.%d", _ELFUTILS_VERSION);
	print_library("elfutils", elf, dwfl_version(NULL));
	print_library("zlib", ZLIB_VERSION, zlibVersion());
	return CMD_OK;
}
