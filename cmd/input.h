/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one way in for every command that reads: a capture of ours, or a foreign file that can be
 * imported, by path or "-" for standard input. Knows no record.
 *
 *	rc = input_open(&in, path, &err);
 *	... in->reader ...
 *	status = input_close(in, status);
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct capture_reader;
struct foreign;

struct input {
	struct capture_reader *reader;
	const char *path;        /* as given, for messages; borrowed */
	struct foreign *foreign; /* NULL: none */
	int fd;                  /* of what was merged, else -1 */
	int status;              /* CMD_FAILED: one of several was damaged, which has been told */
};

/* "accel-prof.data": what commands read without -i. */
#define INPUT_DEFAULT "accel-prof.data"

/* A regular file: reading it takes nothing away. */
bool input_can_be_read_twice(const char *path);

/* @path NULL: INPUT_DEFAULT. */
int input_open(struct input **ret, const char *path, struct err *err);
/* Captures and traces of several ranks of one job as one; none: INPUT_DEFAULT. @paths are read until
 * it is closed. */
int input_open_ranks(struct input **ret, const char *const *paths, size_t count, struct err *err);
/*
 * Says on stderr what was damaged or missing in what has been read, in one sentence. Returns the
 * exit status: @status, or 1 instead of 0 when there was damage, so that scripts notice. NULL is
 * fine.
 */
int input_close(struct input *in, int status);
/* The same without a word, for what will be read again. */
void input_drop(struct input *in);
