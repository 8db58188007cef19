/* SPDX-License-Identifier: Apache-2.0 */
/* What jit.c (names by address) and jitdump.c (one of the two formats) share. Internal. */
#pragma once

#include "base/strtab.h"
#include "base/vec.h"
#include "symbolize/jit.h"

struct jit_entry {
	uint64_t start, end;
	uint32_t name;
	uint32_t order; /* in the file: the later wins */
	uint32_t first_line, line_count;
};

/* Code from @offset of its function on comes from there. */
struct jit_line {
	uint64_t offset;
	uint32_t file; /* string; 0: none */
	uint32_t line;
};

/* Disjoint and sorted: the addresses [start, end) are @entry's. */
struct jit_range {
	uint64_t start, end;
	uint32_t entry;
};

struct jit_symbols {
	struct strtab names; /* and files */
	VEC(struct jit_line) lines;
	VEC(struct jit_entry) entries;
	VEC(struct jit_range) ranges;
	size_t skipped;
	struct symbol_line line; /* given out last */
};

/* Keep an entry, or count it as skipped. 0 or -ENOMEM. */
int jit_add_entry(struct jit_symbols *j, uint64_t start, uint64_t size, struct span name);
/* When all are there. 0 or -ENOMEM. */
int jit_make_ranges(struct jit_symbols *j);
