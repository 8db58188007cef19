/* SPDX-License-Identifier: Apache-2.0 */
/* Real files for the tests of lib/elf, and the output of other tools about them. */
#pragma once

#include "base/cleanup.h"
#include "elf/elf.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The first is the test itself: the only one here with a .symtab. */
static const char *const system_files[] = {
	"/proc/self/exe",
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib/x86_64-linux-gnu/libpthread.so.0",
	"/lib64/ld-linux-x86-64.so.2",
	"/usr/bin/python3",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/libOpenCL.so.1",
	"/usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13.0",
};

/* The path without links, as tools of another process should see it. NULL: not installed here. */
static inline const char *system_file_path(size_t index, char buffer[PATH_MAX])
{
	return realpath(system_files[index], buffer);
}

/* The lines that a command prints: fn(data, line) for each, without its newline. Returns how many. */
static inline size_t command_lines(const char *command, void (*fn)(void *data, char *line),
				   void *data)
{
	FILE *pipe = popen(command, "re");
	if (!pipe)
		return 0;
	CLEANUP_FREE char *line = NULL;
	size_t cap = 0, count = 0;
	ssize_t n;
	while ((n = getline(&line, &cap, pipe)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		fn(data, line);
		count++;
	}
	return pclose(pipe) == 0 ? count : 0;
}
