/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a place in code is called: the function that the linker knows, and the functions inlined
 * there with their lines. Names are as the symbol table or DWARF has them, mangled; symbolize.h
 * turns them into frames.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct symbol_line {
	const char *name; /* of the function; never NULL */
	const char *file; /* NULL: not known */
	uint32_t line;    /* that is executed or, but for the last, called from; 0: not known */
	uint32_t column;  /* 0: not known */
};

struct symbol {
	uint64_t start, size; /* of the function, in the object's offsets; size 0: not known */
	const struct symbol_line *lines; /* outermost function first */
	size_t count;                    /* never 0 */
};

/* Deeper chains of inlined functions are cut at their outer end: gcc and clang stop at about 100. */
#define SYMBOL_LINES_MAX 256u
/* Longer names are cut; the longest seen are 30 KiB, of Eigen's and CUTLASS's templates. */
#define SYMBOL_NAME_BYTES_MAX (64u << 10)
