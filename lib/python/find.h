/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a binary has a CPython in it, of which version, and where: libpython, a static python, a
 * program with an interpreter inside, under whatever name. By symbols that every build exports, as
 * extension modules need them. Knows no process.
 */
#pragma once

#include "base/cleanup.h"
#include "base/vec.h"
#include "elf/elf.h"
#include "python/layout.h"

#include <stdbool.h>

/* Code of the interpreter's loop. All addresses are the ELF file's. */
struct python_range {
	uint64_t start, end;
	/* A part that the loop's function jumps to with a frame of its own: what is called from it
	 * is called from the frame above (tail-calling interpreters: _TAIL_CALL_...). */
	bool is_inner;
};

struct python_binary {
	struct python_layout layout;
	uint64_t runtime;               /* _PyRuntime */
	uint64_t code_type;             /* PyCode_Type, 0: not known */
	VEC(struct python_range) loops; /* sorted */
};

/* 1: there is one; 0: there is none; -ENOTSUP: one whose version is not known; -EBADMSG, -ENOMEM. */
int python_binary_find(struct python_binary *ret, struct elf_file *elf, struct err *err);
void python_binary_release(struct python_binary *b);
DEFINE_CLEANUP_EMBEDDED(python_binary_release, struct python_binary)

/* The part of the loop that @vaddr is in, NULL: none. */
const struct python_range *python_binary_loop(const struct python_binary *b, uint64_t vaddr);

/* dynamic.c: whether the file exports @name, by its hash table alone, which is two small reads where
 * it does not. */
bool python_exports(struct elf_file *elf, const char *name);
/* cold.c: the part of the function at [@start, @end) that the compiler moved away, in a file whose
 * symbols do not tell; false: there is none. */
bool python_find_cold(struct elf_file *elf, uint64_t start, uint64_t end, struct python_range *ret);
