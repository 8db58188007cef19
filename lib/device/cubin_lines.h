/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line program of a cubin: .debug_line (source) or .nv_debug_line_sass (the embedded PTX). Internal.
 *
 * DWARF 2 to 4 with two extended opcodes of NVIDIA's. Every sequence begins with an address that is
 * relocated against the function it belongs to; the relocation tells the function, as all lie at
 * address 0. One without a relocation belongs to code that the linker left out.
 */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "device/object.h"
#include "device/sass.h"

struct cubin_row {
	uint64_t address; /* in the section */
	uint32_t file;    /* index into `files`, + 1; 0: none */
	uint32_t line, column;
	uint32_t context; /* 1-based row of the same sequence that called; 0: not inlined */
	uint32_t name;    /* of the inlined function: a number of the object's strings */
};

struct cubin_sequence {
	uint32_t section;
	uint64_t start, end;
	uint64_t max_end; /* of this and the ones before it in the section */
	size_t first, count;
};

struct cubin_lines {
	VEC(struct cubin_row) rows;
	VEC(struct cubin_sequence) sequences; /* by section, then start */
	VEC(uint32_t) files;                  /* numbers of the object's strings */
};

/* What a symbol of a cubin is. */
struct cubin_symbol {
	const char *name;
	uint64_t value, size;
	uint32_t section;
	uint8_t type, other;
};

/* Relocations of one section: place -> symbol (index), addend. */
struct cubin_relocation {
	uint64_t addend;
	uint32_t symbol;
	bool has_addend;
};

struct cubin_text {
	uint32_t file; /* string: the section's name */
	struct span text;
	VEC(uint32_t) lines;
};

struct cubin {
	VEC(struct cubin_symbol) symbols; /* by index */
	struct cubin_lines source, ptx;
	bool is_read;
	/* texts of .nv_debug_ptx_txt*, and where their lines begin */
	VEC(struct cubin_text) texts;
	struct sass sass;
};

/* "debug_line" or "nv_debug_line_sass". What is damaged ends the reading there. 0 or -ENOMEM. */
int cubin_lines_read(struct device_object *o, const struct cubin *c, const char *name,
		     struct cubin_lines *ret);
void cubin_lines_release(struct cubin_lines *l);
/* The sequence that holds the place, and in @ret_row its last row at or before it; NULL. */
const struct cubin_sequence *cubin_lines_at(const struct cubin_lines *l, uint32_t section,
					    uint64_t address, size_t *ret_row);
