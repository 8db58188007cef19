/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where functions begin, for files whose symbols were stripped: each function has an entry in the search
 * table of .eh_frame_hdr (LSB Core, "Exception Frames"), which stays because exceptions need it. Names
 * nothing.
 */
#pragma once

#include "elf/elf.h"

struct elf_functions;

/* A file without such a table, or with one of an encoding that no linker writes, has no functions. */
int elf_functions_new(struct elf_functions **ret, struct elf_file *f, struct err *err);
void elf_functions_free(struct elf_functions *t);
DEFINE_CLEANUP(elf_functions_free, struct elf_functions *)

size_t elf_functions_count(const struct elf_functions *t);

/*
 * The function that begins last at or before @vaddr, in the same section; it reaches at most to
 * *@ret_end, where the next one begins. -ENOENT.
 */
int elf_functions_at(const struct elf_functions *t, uint64_t vaddr, uint64_t *ret_start,
		     uint64_t *ret_end);
