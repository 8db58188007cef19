/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols of one ELF file, by address and by name.
 *
 * Which table: .symtab where there is one, else .dynsym and, with it, the .symtab inside
 * .gnu_debugdata (mini-debuginfo: an xz-compressed ELF file with the functions that .dynsym lacks).
 * Functions (FUNC, GNU_IFUNC), objects, and untyped symbols of executable sections (assembly) are
 * kept; undefined, section, file, TLS and mapping symbols ("$x", ".L") are not.
 */
#pragma once

#include "elf/elf.h"

struct elf_symtab;

/* Chromium, the largest known, has 1.5 million. */
#define ELF_SYMBOLS_MAX (8u << 20)
/* A symbol of size 0 (assembly) is taken to reach to the next symbol, the end of its section, or
 * this far: OpenSSL's and OpenBLAS's unsized routines are below it, and a name that stretched over
 * a stripped file's static functions would be wrong. */
#define ELF_SYMBOL_GUESS_BYTES 16384u

/* The table's strings live until elf_symtab_free(), and the file must live as long. A file without
 * symbols gives an empty table. */
int elf_symtab_new(struct elf_symtab **ret, struct elf_file *f, struct err *err);
void elf_symtab_free(struct elf_symtab *t);
DEFINE_CLEANUP(elf_symtab_free, struct elf_symtab *)

struct elf_symbol {
	const char *name;    /* without version */
	const char *version; /* "GLIBC_2.34"; NULL: none */
	uint64_t value;      /* st_value: an address but in relocatable files (ET_REL) */
	uint64_t size;       /* elf_symtab_at(): never 0, see is_guessed; else st_size */
	uint32_t section;    /* index; SHN_ABS for absolute ones */
	uint8_t type, bind;  /* STT_*, STB_* */
	bool is_default;     /* without version, or with the one that links by the bare name */
	bool is_guessed;     /* elf_symtab_at(): the file does not say where it ends */
};

/* In the file's order. */
size_t elf_symtab_count(const struct elf_symtab *t);
struct elf_symbol elf_symtab_get(const struct elf_symtab *t, size_t index);

/*
 * The symbol whose [value, value + size) holds @vaddr; -ENOENT. Among several the one that starts
 * last, so that an outlined part wins over what surrounds it; among aliases one that is global
 * rather than weak rather than local, then with fewer leading underscores, then by name.
 */
int elf_symtab_at(const struct elf_symtab *t, uint64_t vaddr, struct elf_symbol *ret);

/*
 * By name: "memcpy" is the default version or else any, "memcpy@GLIBC_2.2.5" that version. A global
 * or weak one is preferred to a local one, of which there can be many; -ENOENT. Not const: the first
 * search makes an index.
 */
int elf_symtab_find(struct elf_symtab *t, const char *name, struct elf_symbol *ret);
