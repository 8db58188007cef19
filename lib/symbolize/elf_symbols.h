/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and lines in one ELF file and its separate debug files. Opens no paths: says which debug files it
 * could use, and takes descriptors of them. For strangers' files, use it in the worker only.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "elf/debug.h"
#include "symbolize/symbol.h"

#include <stdbool.h>

struct elf_symbols;

enum elf_symbols_flag {
	ELF_SYMBOLS_MAP = 1 << 0,   /* map files: SIGBUS if someone truncates one */
	ELF_SYMBOLS_LINES = 1 << 1, /* with lines and inlined functions, from DWARF */
	/* But not from much that is compressed: libdw inflates all of it before the first answer. */
	ELF_SYMBOLS_CHEAP = 1 << 2,
};

/* @fd is borrowed until elf_symbols_close(). Errors as elf_open_fd(). */
int elf_symbols_open(struct elf_symbols **ret, int fd, const char *name, unsigned flags,
		     struct err *err);
void elf_symbols_close(struct elf_symbols *e);
DEFINE_CLEANUP(elf_symbols_close, struct elf_symbols *)

/* The debug file that would add something, by what is known of it. */
struct elf_symbols_wanted {
	struct elf_build_id build_id;    /* size 0: none */
	char name[ELF_DEBUG_NAME_BYTES]; /* .gnu_debuglink's; "": none */
	char path[ELF_DEBUG_PATH_BYTES]; /* .gnu_debugaltlink's; "": none */
};

/* True when names or lines are missing that a debug file can have, and the file says which. */
bool elf_symbols_want_debug(struct elf_symbols *e, struct elf_symbols_wanted *ret);
/* Borrowed like the first. -ENOENT: it is not the debug file of this one; -EBADMSG: damaged. */
int elf_symbols_add_debug(struct elf_symbols *e, int fd, struct err *err);
/* The same for the file that dwz moved common parts to; ask after the debug file has been added. */
bool elf_symbols_want_alt(struct elf_symbols *e, struct elf_symbols_wanted *ret);
int elf_symbols_add_alt(struct elf_symbols *e, int fd, struct err *err);

/* Read what is there. Damaged DWARF is no failure: it costs the lines. */
int elf_symbols_load(struct elf_symbols *e, struct err *err);
bool elf_symbols_have_lines(const struct elf_symbols *e);

/*
 * After elf_symbols_load(): what @vaddr is called. Code without a name is called after where its function
 * begins, "libfoo.so+0x1230", so that all of one function has one name. @want_lines: search the DWARF too, until
 * @deadline_ns (CLOCK_MONOTONIC; 0: none). 0, and @ret's lines live until the next call and its strings
 * until elf_symbols_close(); -ENOENT: no name; -ETIME: the deadline has passed, ask without lines.
 */
int elf_symbols_at(struct elf_symbols *e, uint64_t vaddr, bool want_lines, uint64_t deadline_ns,
		   struct symbol *ret);
