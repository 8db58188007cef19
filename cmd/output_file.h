/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result that goes to a file or to standard output. A file appears under its name only when it
 * is whole: an older one is not destroyed by a run that fails.
 *
 *	CLEANUP(output_file_release) struct output_file out = { 0 };
 *	if (output_file_open(&out, path, &err) < 0)
 *	...	fprintf(out.stream, ...)
 *	if (output_file_commit(&out, &err) < 0)
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"

#include <stdio.h>

/* All-zero is none. */
struct output_file {
	FILE *stream;
	const char *path; /* as given; NULL: standard output */
	char *temp;       /* what is being written; NULL: straight to @path */
};

/* @path, which is borrowed, may be NULL or "-" for standard output. */
int output_file_open(struct output_file *o, const char *path, struct err *err);
/* Everything is written and under its name, or an error. */
int output_file_commit(struct output_file *o, struct err *err);
/* What was not committed is gone. */
void output_file_release(struct output_file *o);
DEFINE_CLEANUP_EMBEDDED(output_file_release, struct output_file)
