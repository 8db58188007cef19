/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the bytes of a capture go: a file that gets its name at the end, or a descriptor. Knows
 * what a capture's first bytes are, so as not to replace a file that is none; nothing else of the
 * format.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output {
	int fd;
	bool owns_fd;
	bool can_cut;     /* a regular file, where an unfinished write can be taken back */
	uint64_t start;   /* position in the file at which we began */
	uint64_t written; /* whole writes */
	char *path;       /* what it is called in messages, and shall be called in the end */
	char *temp;       /* what it is called until then; NULL: no renaming */
	bool is_unnamed;  /* it is not called anything until then */
	int error;        /* the first one: sticks */
	struct err err;
};

/* @path NULL: @fd, borrowed. On failure @ret may be released like on success. */
int output_open(struct output *ret, const char *path, int fd, struct err *err);
/* Closes; removes a file that was not committed. */
void output_release(struct output *o);
int output_write(struct output *o, const void *data, size_t size);
int output_commit(struct output *o, struct err *err);
