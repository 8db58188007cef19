/* SPDX-License-Identifier: Apache-2.0 */
/* Which line of its file each instruction of a code object belongs to. */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "base/span.h"
#include "base/vec.h"
#include "python/layout.h"

/* A line table of this size is 100,000 lines in one function. */
#define PYTHON_LINES_BYTES_MAX (1u << 20)

struct python_line_start {
	uint32_t offset; /* in the byte code, in bytes: from here on */
	uint32_t line;   /* 0: none, the instruction is not of the source */
};

/* By offset; all-zero is an empty one. */
struct python_lines {
	VEC(struct python_line_start) starts;
	uint32_t first_line; /* of the code object: before its first instruction */
};

/* @table: a code object's co_lnotab, co_linetable. -EBADMSG for one that no compiler makes. */
int python_lines_read(struct python_lines *ret, enum python_lines_kind kind, struct span table,
		      uint32_t first_line, struct err *err);
void python_lines_release(struct python_lines *l);
DEFINE_CLEANUP_EMBEDDED(python_lines_release, struct python_lines)

/* The line of the instruction at @offset, negative: none was executed yet. 0: it has none. */
uint32_t python_lines_at(const struct python_lines *l, int64_t offset);
