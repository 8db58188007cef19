/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the table builder needs of an ELF file: where code may be and where its call frame
 * information is, with or without section headers. Trusts nothing in it.
 */
#pragma once

#include "base/cleanup.h"
#include "elf/elf.h"
#include "unwind/cfi.h"

struct unwind_image {
	const struct elf_file *elf;
	uint64_t entry;
	uint64_t text, text_end; /* lowest and behind the highest address of code */
	struct cfi_section eh_frame, debug_frame; /* no data: there is none */
	struct span search;   /* .eh_frame_hdr's table of FDEs by address, or none */
	uint64_t search_base; /* what its entries count from */
	void *owned[2];       /* copies of what has no section */
};

/* @elf is borrowed; -ENOENT when it has no code, -ENOTSUP when it is of another machine. */
int unwind_image_open(struct elf_file *elf, struct unwind_image *ret, struct err *err);
void unwind_image_release(struct unwind_image *image);
DEFINE_CLEANUP_EMBEDDED(unwind_image_release, struct unwind_image)

/* Where code at @address ends: the end of its segment, or 0 when it is in none. */
uint64_t unwind_image_code_end(const struct unwind_image *image, uint64_t address);
