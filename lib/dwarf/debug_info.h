/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF: address → the functions there, inlined ones included, with files and lines. Knows nothing
 * of processes or of where debug files lie. (The prefix dwarf_ is libdw's.)
 *
 * libdw does the parsing. What it leaves out is done here: finding the unit without .debug_aranges,
 * which clang does not write; whole chains of inlined functions; rows with line 0; and an index of
 * each unit's functions, without which every address would cost a walk over its whole unit (minutes
 * for programs that link-time optimisation made one unit of).
 *
 * libdw is fuzzed but large: hand it strangers' files only in the worker.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

struct debug_info;

enum debug_info_flag {
	DEBUG_INFO_MAP = 1 << 0, /* map the file: SIGBUS if someone truncates it */
};

/* @fd is borrowed until debug_info_close(). -ENOENT: the file has no DWARF. */
int debug_info_open_fd(struct debug_info **ret, int fd, const char *name, unsigned flags,
		       struct err *err);
/* The same for an ELF file in memory, which is borrowed until debug_info_close(). */
int debug_info_open_memory(struct debug_info **ret, struct span bytes, const char *name,
			   struct err *err);
void debug_info_close(struct debug_info *d);
DEFINE_CLEANUP(debug_info_close, struct debug_info *)

/* The file that dwz moved common parts to (.gnu_debugaltlink names it). Borrowed; it must be closed
 * later than @d. Without it names that were moved are missing. */
void debug_info_set_alt(struct debug_info *d, struct debug_info *alt);

/*
 * From now on also find inlined functions of which the file does not say where they lie, as Intel's compiler
 * writes them: by the line executed, which must be one of theirs. A call of which there are several gets line
 * 0, as nothing tells which one it is.
 */
void debug_info_deduce_inlined(struct debug_info *d);

struct debug_line {
	const char *name; /* of the function: linkage name, else name; NULL: not known */
	const char *file; /* path as the compiler was given it, below its folder; NULL: not known */
	uint32_t line;    /* 0: not known */
	uint32_t column;  /* 0: not known */
};

/* Deeper chains are cut at their outer end. */
#define DEBUG_LINES_MAX 256u

struct debug_place {
	uint64_t start, size;                     /* of the outermost function; size 0: not known */
	struct debug_line lines[DEBUG_LINES_MAX]; /* outermost function first */
	size_t count;                             /* at least 1 */
};

/*
 * What stands at @vaddr, an address as in the symbol table. All lines but the last are those of calls
 * that were inlined. Strings live until debug_info_close(). -ENOENT: nothing is known about it;
 * -ETIME: not found out by @deadline_ns (CLOCK_MONOTONIC; 0: none), and no use to ask for more.
 * The deadline holds but for one unit's line table, which libdw reads in one go.
 */
int debug_info_at(struct debug_info *d, uint64_t vaddr, uint64_t deadline_ns,
		  struct debug_place *ret);
