/* SPDX-License-Identifier: Apache-2.0 */
/* What symtab.c (lookup) and symtab_load.c (reading the tables) share. Internal to lib/elf. */
#pragma once

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "elf/symtab.h"

struct symtab_entry {
	struct elf_symbol symbol; /* size as in the file */
	uint64_t section_end;     /* address where its section ends; 0: not in executable code */
	uint32_t next_by_name;    /* entry + 1 */
};

/* Disjoint and sorted: who owns the addresses [start, end). */
struct symtab_range {
	uint64_t start, end;
	uint32_t entry;
	bool is_guessed;
};

struct elf_symtab {
	VEC(struct symtab_entry) entries;
	VEC(struct symtab_range) ranges;
	struct hash by_name;   /* hash of the name -> entry + 1; made at the first search */
	struct arena arena;    /* names that had a version behind them */
	struct elf_file *mini; /* .gnu_debugdata */
	uint8_t *mini_bytes;
	bool is_indexed;
};

/* Fill @t->entries. */
int symtab_load(struct elf_symtab *t, struct elf_file *f, struct err *err);
