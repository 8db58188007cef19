/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One ELF file: header, segments, sections, build-id. Knows nothing of processes or of what the
 * contents mean; symbols are in elf/symtab.h, separate debug files in elf/debug.h.
 *
 * The file is taken to be hostile: each offset, size and index from it is checked before use, and
 * what is read is bounded by named limits. Files are read with pread(), not mapped, because whoever
 * can truncate a mapped file kills its reader with SIGBUS; ELF_OPEN_MAP is for a process that may
 * die of that (the worker). 64-bit little-endian files only: that is every x86-64 and aarch64
 * binary and every accelerator's code object read here. Others are -ENOTSUP.
 *
 * Reading on demand makes the functions that take a non-const file change its caches, so one file
 * belongs to one thread. Views and strings given out live until elf_close().
 *
 *	CLEANUP(elf_close) struct elf_file *elf = NULL;
 *	int rc = elf_open_fd(&elf, fd, path, 0, err);
 *	if (rc < 0)
 *		return rc;
 *	struct elf_section text;
 *	if (elf_section_find(elf, ".text", &text) == 0) ...
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_file;

/* Linkers make up to some hundred thousand sections in relocatable files, where each function has
 * its own; linked files have less than a hundred. */
#define ELF_SECTIONS_MAX (1u << 20)
/* What one section may take in memory, as stored or inflated: the largest seen are debug sections
 * of 700 MB. Applies to copies; a mapped file's own bytes are limited by nothing. */
#define ELF_SECTION_BYTES_MAX (1ull << 30)

/* ELF_OPEN_LEAN's: linked files have some 15 segments and 40 sections, and libraries that are probed
 * or interpret Python symbol tables and names of 10 MB each. */
#define ELF_LEAN_SEGMENTS_MAX      64
#define ELF_LEAN_SECTIONS_MAX      1024
#define ELF_LEAN_NAMES_BYTES_MAX   (64u << 10)
#define ELF_LEAN_SECTION_BYTES_MAX (64ull << 20)

enum elf_open_flag {
	ELF_OPEN_MAP = 1 << 0, /* map the file: SIGBUS if someone truncates it */
	/* For a process that must go on whatever the file is, and has many open: more segments than
	 * ELF_LEAN_SEGMENTS_MAX are -EBADMSG, more sections or longer names of them count as none,
	 * larger contents are -EFBIG. */
	ELF_OPEN_LEAN = 1 << 1,
};

/*
 * @fd is borrowed and must stay open until elf_close(); its file position is not used. @name is for
 * messages and copied. -EBADMSG: not a well-formed ELF file; -ENOTSUP: one of another kind.
 */
int elf_open_fd(struct elf_file **ret, int fd, const char *name, unsigned flags, struct err *err);
/* The same for bytes in memory, which are borrowed until elf_close(). */
int elf_open_memory(struct elf_file **ret, struct span bytes, const char *name, struct err *err);
/* Give up the memory of sections, of which there are none from here on; segments stay. */
void elf_forget_sections(struct elf_file *f);
void elf_close(struct elf_file *f);
DEFINE_CLEANUP(elf_close, struct elf_file *)

/* The constants are those of <elf.h>. */
struct elf_header {
	uint16_t type;    /* ET_* */
	uint16_t machine; /* EM_* */
	uint32_t flags;   /* e_flags, meaning depends on the machine */
	uint8_t abi_version;
	uint64_t entry;
};

struct elf_header elf_header(const struct elf_file *f);
const char *elf_name(const struct elf_file *f);
uint64_t elf_file_bytes(const struct elf_file *f);

struct elf_segment {
	uint32_t type;  /* PT_* */
	uint32_t flags; /* PF_* */
	uint64_t offset, file_bytes;
	uint64_t vaddr, memory_bytes;
	uint64_t align;
};

size_t elf_segment_count(const struct elf_file *f);
struct elf_segment elf_segment_get(const struct elf_file *f, size_t index);

struct elf_section {
	const char *name; /* "" where the file has no name for it */
	uint32_t index;
	uint32_t type;  /* SHT_* */
	uint64_t flags; /* SHF_* */
	uint64_t addr;
	uint64_t offset, size; /* as the header says; not checked, elf_section_data() does */
	uint32_t link, info;
};

/* 0 for a file without section headers; else section 0 is the null section. */
size_t elf_section_count(const struct elf_file *f);
struct elf_section elf_section_get(const struct elf_file *f, size_t index);
/* The first section of that name; -ENOENT. */
int elf_section_find(const struct elf_file *f, const char *name, struct elf_section *ret);
/*
 * Contents, inflated where the section is compressed; empty for SHT_NOBITS. -EBADMSG when it lies
 * outside the file or does not inflate, -EFBIG beyond ELF_SECTION_BYTES_MAX, -ENOTSUP for an
 * unknown compression.
 */
int elf_section_data(struct elf_file *f, const struct elf_section *section, struct span *ret,
		     struct err *err);

/* SHA-1 makes 20 bytes; ld --build-id=0x... can make any length, and longer ones count as none. */
#define ELF_BUILD_ID_MAX 64

struct elf_build_id {
	uint8_t bytes[ELF_BUILD_ID_MAX];
	size_t size; /* 1 to ELF_BUILD_ID_MAX */
};

/* The GNU build-id; -ENOENT when there is none. */
int elf_build_id(const struct elf_file *f, struct elf_build_id *ret);
/* The same from notes alone, such as /sys/kernel/notes or /sys/module/NAME/notes/.note.gnu.build-id. */
int elf_notes_build_id(struct span notes, struct elf_build_id *ret);

/* Address ↔ offset in the file by PT_LOAD; -ENOENT for an address without bytes in the file. */
int elf_vaddr_to_offset(const struct elf_file *f, uint64_t vaddr, uint64_t *ret);
/*
 * For offsets of code, as /proc/PID/maps and uprobes give them. Executable segments come first, and
 * an offset in the padding of a segment's first or last page, which is mapped too, counts.
 */
int elf_offset_to_vaddr(const struct elf_file *f, uint64_t offset, uint64_t *ret);

/* Copy bytes of the file: all of @size, or -EBADMSG. */
int elf_read(const struct elf_file *f, uint64_t offset, void *data, size_t size);
/* Copy what would be in memory at @vaddr before relocation, zeros of .bss included. */
int elf_read_vaddr(const struct elf_file *f, uint64_t vaddr, void *data, size_t size);
