/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: bench_symbolize FILE [COUNT [SECONDS]]
 * Names, then lines with inlined functions, of COUNT places spread over FILE's text (50000), through the
 * worker; then the same places by the tools that people have, with SECONDS (20) for each.
 */
#include "base/cleanup.h"
#include "elf/elf.h"
#include "worker/worker.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int count_frames(void *data, uint64_t offset, const struct symbol *symbol)
{
	(void)offset;
	*(size_t *)data += symbol->count;
	return 0;
}

static int run_worker(struct worker *w, int fd, const char *path, const uint64_t *offsets,
		      size_t count, bool want_lines)
{
	struct worker_object object = { .fd = fd, .kind = WORKER_ELF, .path = path, .root_fd = -1 };
	struct worker_ask ask = {
		.offsets = offsets,
		.count = count,
		.want_lines = want_lines,
		.budget_ns = 600ull * 1000000000,
	};
	struct worker_counts counts = { 0 };
	struct err err = { 0 };
	size_t frames = 0;

	double start = now();
	int rc = worker_symbolize(w, &object, &ask, count_frames, &frames, &counts, &err);
	double took = now() - start;
	if (rc < 0) {
		fprintf(stderr, "%s\n", err.text);
		return rc;
	}
	printf("  %-24s %8.0f ms %10.0f places/s   %zu named, %zu frames, %zu with lines\n",
	       want_lines ? "worker, with lines" : "worker, names", took * 1e3,
	       (double)count / took, counts.named, frames, counts.with_lines);
	return 0;
}

/* How many of the places the tool did before its time was up, by the addresses that it printed. */
static void run_tool(const char *name, const char *command, const char *path, const char *input,
		     int seconds)
{
	char line[3 * PATH_MAX];
	size_t places = 0, lines = 0;

	snprintf(line, sizeof(line), "timeout %d %s '%s' < '%s' 2>/dev/null", seconds, command,
		 path, input);
	double start = now();
	FILE *pipe = popen(line, "re");
	if (!pipe)
		return;
	CLEANUP_FREE char *text = NULL;
	size_t cap = 0;
	while (getline(&text, &cap, pipe) > 0) {
		places += strncmp(text, "0x", 2) == 0;
		lines++;
	}
	int status = pclose(pipe);
	double took = now() - start;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
		printf("  %-24s not installed\n", name);
		return;
	}
	printf("  %-24s %8.0f ms %10.0f places/s   %zu frames%s\n", name, took * 1e3,
	       (double)places / took, (lines - places) / 2,
	       WIFEXITED(status) && WEXITSTATUS(status) == 124 ? ", time was up" : "");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name, *command;
	} tools[] = {
		{ "addr2line -f", "addr2line -a -f -e" },
		{ "addr2line -i -f", "addr2line -a -i -f -e" },
		{ "eu-addr2line -i -f", "eu-addr2line -a -i -f -e" },
		{ "llvm-symbolizer",
		  "llvm-symbolizer --output-style=GNU --no-demangle -a -f -i -e" },
	};
	struct err err = { 0 };
	char input[] = "/tmp/bench_symbolize.XXXXXX";

	if (argc < 2) {
		fprintf(stderr, "usage: bench_symbolize FILE [COUNT [SECONDS]]\n");
		return 2;
	}
	size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : 50000;
	int seconds = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 20;
	CLEANUP(worker_free) struct worker *w = NULL;
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	CLEANUP_CLOSE int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	struct elf_section text;
	if (worker_start(&w, &err) < 0 || elf_open_fd(&elf, fd, argv[1], 0, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	CLEANUP_FREE uint64_t *offsets = calloc(count, sizeof(*offsets));
	CLEANUP_CLOSE int input_fd = mkstemp(input);
	if (!count || !offsets || input_fd < 0 || elf_section_find(elf, ".text", &text) < 0)
		return 1;
	for (size_t i = 0; i < count; i++) {
		offsets[i] = text.addr + (uint64_t)((double)text.size / (double)count * (double)i);
		dprintf(input_fd, "0x%lx\n", offsets[i]);
	}

	printf("%s: %zu places in %zu MB of text\n", argv[1], count, (size_t)(text.size >> 20));
	int rc = run_worker(w, fd, argv[1], offsets, count, false);
	if (rc == 0)
		rc = run_worker(w, fd, argv[1], offsets, count, true);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(tools); i++) {
		fflush(stdout);
		run_tool(tools[i].name, tools[i].command, argv[1], input, seconds);
	}
	unlink(input);
	return rc < 0;
}
