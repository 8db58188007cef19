/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ordinary main() around a fuzz target: every file of the folders named, and every prefix of
 * those of at most PREFIX_MAX_BYTES, so that each saved case is part of each test run.
 */
#include "base/cleanup.h"
#include "base/io.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Code objects are larger; their targets say so. */
#ifndef PREFIX_MAX_BYTES
#define PREFIX_MAX_BYTES 4096
#endif

/* Each input in an allocation of exactly its size, so that ASan sees one byte too far. */
static void replay(const char *data, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);
	if (!exact)
		abort();
	memcpy(exact, data, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

static int replay_file(const char *path)
{
	CLEANUP_FREE char *data = NULL;
	size_t size;

	if (io_read_file(path, 64u << 20, &data, &size) < 0) {
		fprintf(stderr, "cannot read '%s'\n", path);
		return -1;
	}
	replay(data, size);
	for (size_t n = 0; size <= PREFIX_MAX_BYTES && n < size; n++)
		replay(data, n);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned count = 0;

	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);
		if (!dir) {
			fprintf(stderr, "cannot open '%s'\n", argv[i]);
			return 1;
		}
		for (struct dirent *e; (e = readdir(dir));) {
			char path[4096];
			if (e->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s", argv[i], e->d_name);
			if (replay_file(path) < 0) {
				closedir(dir);
				return 1;
			}
			count++;
		}
		closedir(dir);
	}
	printf("%u inputs\n", count);
	return count ? 0 : 1; /* an empty corpus tests nothing */
}
