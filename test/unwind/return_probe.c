/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a return probe that does nothing on one place of a file, for all processes, until its
 * standard input ends. Says "ready" when it is there; exit status 77: this kernel has none.
 *
 *	return_probe FILE OFFSET
 */
#include "base/io.h"
#include "base/parse.h"
#include "base/vec.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PMU "/sys/bus/event_source/devices/uprobe/"

static int read_number(const char *path, uint32_t *ret)
{
	char *text;
	size_t size;

	if (io_read_file(path, 64, &text, &size) < 0)
		return -1;
	text[strcspn(text, "\n")] = '\0';
	int rc = parse_u32(text, 10, ret);
	free(text);
	return rc;
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	uint64_t offset;
	uint32_t type;

	if (argc != 3 || parse_u64(argv[2], 10, &offset) < 0)
		return 2;
	if (read_number(PMU "type", &type) < 0)
		return 77;
	attr.type = type;
	attr.config = 1; /* format/retprobe: bit 0 */
	attr.uprobe_path = (uint64_t)(uintptr_t)argv[1];
	attr.probe_offset = offset;
	/* One event on one CPU puts the probe into the file for all. */
	if (syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC) < 0) {
		perror("perf_event_open");
		return 77;
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
