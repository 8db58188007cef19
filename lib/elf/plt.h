/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stubs through which a file calls other files' functions (.plt, .plt.sec, .plt.got): no symbol names
 * them, and samples land in them. Each jumps through a slot of memory, and the relocation of that slot
 * names the function. x86-64 only; in other files there are none.
 */
#pragma once

#include "elf/elf.h"

struct elf_plt;

int elf_plt_new(struct elf_plt **ret, struct elf_file *f, struct err *err);
void elf_plt_free(struct elf_plt *p);
DEFINE_CLEANUP(elf_plt_free, struct elf_plt *)

struct elf_plt_stub {
	uint64_t start, size;
	const char *name; /* without "@plt"; NULL: a function of this file, chosen by @resolver */
	uint64_t
		resolver; /* address of an indirect function (STT_GNU_IFUNC), where there is no name */
};

/* The stub at @vaddr; -ENOENT. Names live as long as the file. */
int elf_plt_at(const struct elf_plt *p, uint64_t vaddr, struct elf_plt_stub *ret);
