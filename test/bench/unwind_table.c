/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long unwind tables take to make, and how large they are. For each ELF file named, and for all
 * of them together: the best of three runs.
 *
 *	unwind_table FILE...
 */
#include "elf/elf.h"
#include "unwind/table.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define RUNS 3

static double cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

struct total {
	double ms;
	uint64_t rows, bytes, text;
	unsigned files, failed;
};

static int measure(const char *path, struct total *total)
{
	struct unwind_stats stats = { 0 };
	double best = 1e9;
	uint64_t rows = 0, bytes = 0;
	struct err err = { 0 };

	for (int i = 0; i < RUNS; i++) {
		CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
		CLEANUP(elf_close) struct elf_file *elf = NULL;
		CLEANUP(unwind_table_release) struct unwind_table table = { 0 };
		double start = cpu_ms();
		if (fd < 0 || elf_open_fd(&elf, fd, path, ELF_OPEN_MAP, &err) < 0 ||
		    unwind_table_build(elf, &table, &stats, &err) < 0) {
			fprintf(stderr, "%s\n", err.text);
			total->failed++;
			return -1;
		}
		double took = cpu_ms() - start;
		best = took < best ? took : best;
		rows = table.rows;
		bytes = unwind_table_bytes(&table);
		if (unwind_table_check(&table, &err) < 0) {
			fprintf(stderr, "%s: %s\n", path, err.text);
			return -1;
		}
	}
	const char *name = strrchr(path, '/');
	printf("%-36s %8.1f MB text %8u FDEs %9lu rows %8.2f MB %7.2f ms %6.1f M rows/s %5.1f%% "
	       "covered %5u unsupported%s%s\n",
	       name ? name + 1 : path, (double)stats.text_bytes / 1e6, stats.fdes, rows,
	       (double)bytes / 1e6, best, (double)rows / best / 1e3,
	       100.0 * (double)stats.covered_bytes / (double)stats.text_bytes,
	       stats.unsupported_rows, stats.used_search_table ? "" : " (walked)",
	       stats.used_debug_frame ? " (.debug_frame)" : "");
	total->ms += best;
	total->rows += rows;
	total->bytes += bytes;
	total->text += stats.text_bytes;
	total->files++;
	return 0;
}

int main(int argc, char **argv)
{
	struct total total = { 0 };

	for (int i = 1; i < argc; i++)
		measure(argv[i], &total);
	printf("%u files (%u without a table): %.1f MB text, %lu rows, %.2f MB, %.1f ms\n",
	       total.files, total.failed, (double)total.text / 1e6, total.rows,
	       (double)total.bytes / 1e6, total.ms);
	return total.files ? 0 : 1;
}
