/* SPDX-License-Identifier: Apache-2.0 */
/* Between the two parts of intel_mm: three multiplications by Level Zero or by OpenCL, and what is true of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BASIC,
	LOCAL,
	TILED,
	VERSIONS
};

#define SIZE 64 /* of the matrices */
#define TILE 16

static const char *const kernel_names[VERSIONS] = { "mm_basic", "mm_local", "mm_tiled" };

struct backend {
	/* What makes the process one that uses the driver. */
	void (*begin)(void);
	/* @file is a zebin or a program's text. */
	void (*open)(const char *file, const char *how);
	/* Where the driver says that a kernel's code is. */
	uint64_t (*address)(int version);
	void (*multiply_basic)(void);
	void (*multiply_local)(void);
	void (*multiply_tiled)(void);
	/* All that was asked for is done. */
	void (*finish)(void);
	/* What was asked for will not be done; Level Zero only. */
	void (*empty)(void);
	/* The kernels once more, of the same module; Level Zero only. */
	void (*anew)(void);
	void (*dump)(const char *path);
};

extern const struct backend ze_backend, cl_backend;

static inline void check(long code, const char *what)
{
	if (code == 0)
		return;
	fprintf(stderr, "%s: error %#lx\n", what, code);
	exit(1);
}

static inline void write_whole(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
		perror(path);
		exit(1);
	}
}

static inline void *read_whole(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "rb");
	long size;
	char *bytes;

	if (!file || fseek(file, 0, SEEK_END) < 0 || (size = ftell(file)) < 0) {
		perror(path);
		exit(1);
	}
	rewind(file);
	bytes = calloc(1, (size_t)size + 1);
	if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size)
		exit(1);
	fclose(file);
	*ret_size = (size_t)size;
	return bytes;
}
