/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long unwind tables take to make, and how large they are, beside what libdw (elfutils, which perf
 * unwinds with) takes to say the same of single rows. For each ELF file named, or mapped as code by a
 * process, and for all of them together: the best of three runs.
 *
 *	unwind_table FILE... | -p PID
 */
#include "elf/elf.h"
#include "unwind/table.h"

#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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
	double ms, libdw_ms; /* libdw's for as many rows as it has */
	uint64_t rows, bytes, text;
	unsigned files, failed;
};

/* libdw is asked for every so many rows of a table. */
#define LIBDW_EVERY 64

/* Milliseconds for all rows, from those asked for; 0: libdw cannot. */
static double measure_libdw(int fd, const struct unwind_table *table)
{
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
	const struct unwind_cell *rows = table->cells + table->pages;
	double start = cpu_ms();
	unsigned asked = 0;

	for (uint32_t i = 0; cfi && i < table->rows; i += LIBDW_EVERY) {
		Dwarf_Frame *frame = NULL;
		if (unwind_row_cfa(&rows[i].row) == UNWIND_CFA_END)
			continue;
		if (dwarf_cfi_addrframe(cfi, table->base + rows[i].row.pc, &frame) == 0)
			asked++;
		free(frame);
	}
	double took = cpu_ms() - start;
	elf_end(elf);
	return asked ? took * table->rows / asked : 0;
}

static int measure(const char *path, struct total *total)
{
	struct unwind_stats stats = { 0 };
	double best = 1e9;
	uint64_t rows = 0, bytes = 0;
	double libdw = 0;
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
		if (i == 0)
			libdw = measure_libdw(fd, &table);
	}
	const char *name = strrchr(path, '/');
	printf("%-36s %8.1f MB text %8u FDEs %9lu rows %8.2f MB %7.2f ms %6.1f M rows/s %5.1f%% "
	       "covered %5u unsupported; libdw %.0f times as long%s%s\n",
	       name ? name + 1 : path, (double)stats.text_bytes / 1e6, stats.fdes, rows,
	       (double)bytes / 1e6, best, (double)rows / best / 1e3,
	       100.0 * (double)stats.covered_bytes / (double)stats.text_bytes,
	       stats.unsupported_rows, libdw / best, stats.used_search_table ? "" : " (walked)",
	       stats.used_debug_frame ? " (.debug_frame)" : "");
	total->ms += best;
	total->libdw_ms += libdw;
	total->rows += rows;
	total->bytes += bytes;
	total->text += stats.text_bytes;
	total->files++;
	return 0;
}

static void measure_process(const char *pid, struct total *total)
{
	char path[64], line[4096], last[4096] = "";
	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	FILE *maps = fopen(path, "r");

	while (maps && fgets(line, sizeof(line), maps)) {
		char *name = strchr(line, '/');
		line[strcspn(line, "\n")] = '\0';
		if (!strstr(line, " r-xp ") || !name || !strcmp(name, last))
			continue;
		snprintf(last, sizeof(last), "%s", name);
		measure(name, total);
	}
	if (maps)
		fclose(maps);
}

int main(int argc, char **argv)
{
	struct total total = { 0 };

	if (argc == 3 && !strcmp(argv[1], "-p"))
		measure_process(argv[2], &total);
	for (int i = 1; i < argc && strcmp(argv[1], "-p"); i++)
		measure(argv[i], &total);
	printf("%u files (%u without a table): %.1f MB text, %lu rows, %.2f MB, %.1f ms; libdw, by every "
	       "%dth row: %.1f ms\n",
	       total.files, total.failed, (double)total.text / 1e6, total.rows,
	       (double)total.bytes / 1e6, total.ms, LIBDW_EVERY, total.libdw_ms);
	return total.files ? 0 : 1;
}
