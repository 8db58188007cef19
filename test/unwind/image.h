/* SPDX-License-Identifier: Apache-2.0 */
/* A small ELF file made of hand-written call frame information, for tests of the table builder. */
#pragma once

#include "base/span.h"

#include <elf.h>
#include <string.h>

/* Where the file's parts lie. Code is mapped at its address only; nobody reads its bytes. */
#define IMAGE_TEXT       0x1000u
#define IMAGE_TEXT_BYTES 0x4000u
#define IMAGE_FRAME      0x200u /* .eh_frame: offset and address */
#define IMAGE_DEBUG      0x900u /* .debug_frame */
#define IMAGE_HDR        0x100u /* .eh_frame_hdr */
#define IMAGE_BYTES      0x1000u

/* Bytes of code in the file; the rest of the text reads as zeros. */
#define IMAGE_CODE_BYTES 0x100u

struct image {
	uint8_t bytes[IMAGE_BYTES + IMAGE_CODE_BYTES];
	struct span frame, debug, hdr; /* what is put there; may be empty */
	uint64_t entry;
	bool no_sections;
};

static inline void image_section_add(Elf64_Shdr *s, uint32_t name, uint32_t type, uint64_t at,
				     uint64_t size)
{
	*s = (Elf64_Shdr){ .sh_name = name,
			   .sh_type = type,
			   .sh_addr = at,
			   .sh_offset = at,
			   .sh_size = size,
			   .sh_addralign = 1 };
}

static inline struct span image_finish(struct image *image)
{
	static const char names[] = "\0.eh_frame\0.debug_frame\0.shstrtab\0.eh_frame_hdr";
	Elf64_Ehdr header = { .e_type = ET_DYN,
			      .e_machine = EM_X86_64,
			      .e_version = 1,
			      .e_entry = image->entry,
			      .e_phoff = sizeof(header),
			      .e_ehsize = sizeof(header),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = image->hdr.size ? 3 : 2,
			      .e_shentsize = sizeof(Elf64_Shdr) };
	Elf64_Phdr program[3] = {
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R,
		  .p_filesz = IMAGE_BYTES,
		  .p_memsz = IMAGE_BYTES,
		  .p_align = 0x1000 },
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_X,
		  .p_offset = IMAGE_BYTES,
		  .p_vaddr = IMAGE_TEXT,
		  .p_filesz = IMAGE_CODE_BYTES,
		  .p_memsz = IMAGE_TEXT_BYTES,
		  .p_align = 0x1000 },
		{ .p_type = PT_GNU_EH_FRAME,
		  .p_flags = PF_R,
		  .p_offset = IMAGE_HDR,
		  .p_vaddr = IMAGE_HDR,
		  .p_filesz = image->hdr.size,
		  .p_memsz = image->hdr.size },
	};
	Elf64_Shdr sections[5] = { 0 };

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	memcpy(image->bytes + 0xd00, names, sizeof(names));
	image_section_add(&sections[1], 1, SHT_PROGBITS, IMAGE_FRAME, image->frame.size);
	image_section_add(&sections[2], 11, SHT_PROGBITS, IMAGE_DEBUG, image->debug.size);
	sections[2].sh_addr = 0;
	image_section_add(&sections[3], 24, SHT_STRTAB, 0xd00, sizeof(names));
	image_section_add(&sections[4], 34, image->hdr.size ? SHT_PROGBITS : SHT_NULL, IMAGE_HDR,
			  image->hdr.size);
	if (!image->no_sections) {
		header.e_shoff = 0xe00;
		header.e_shnum = 5;
		header.e_shstrndx = 3;
		memcpy(image->bytes + 0xe00, sections, sizeof(sections));
	}
	memcpy(image->bytes, &header, sizeof(header));
	memcpy(image->bytes + sizeof(header), program, sizeof(program));
	if (image->frame.size)
		memcpy(image->bytes + IMAGE_FRAME, image->frame.data, image->frame.size);
	if (image->debug.size)
		memcpy(image->bytes + IMAGE_DEBUG, image->debug.data, image->debug.size);
	if (image->hdr.size)
		memcpy(image->bytes + IMAGE_HDR, image->hdr.data, image->hdr.size);
	return span_of(image->bytes, sizeof(image->bytes));
}

/* A section under construction. */
struct frames {
	uint8_t data[0x600];
	size_t size;
};

static inline void frames_put(struct frames *f, const void *data, size_t size)
{
	if (size)
		memcpy(f->data + f->size, data, size);
	f->size += size;
}

static inline void frames_u32(struct frames *f, uint32_t value)
{
	frames_put(f, &value, sizeof(value));
}

/* The length before the entry at @start, padded with DW_CFA_nop to a multiple of 8. */
static inline void frames_close(struct frames *f, size_t start)
{
	while ((f->size - start) % 8)
		f->data[f->size++] = 0;
	uint32_t length = (uint32_t)(f->size - start - 4);
	memcpy(f->data + start, &length, sizeof(length));
}

#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

/*
 * A CIE as gcc writes it: version 1, code alignment 1, data alignment -8, return address 16,
 * pointers pcrel sdata4, CFA = rsp + 8, return address at CFA - 8. @letters: "zR" or "zRS".
 * Returns where it is.
 */
static inline uint32_t frames_cie(struct frames *f, const char *letters)
{
	size_t start = f->size;

	frames_u32(f, 0);
	frames_u32(f, 0);
	frames_put(f, BYTES(1));
	frames_put(f, letters, strlen(letters) + 1);
	frames_put(f, BYTES(1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1));
	frames_close(f, start);
	return (uint32_t)start;
}

static inline uint32_t frames_fde(struct frames *f, uint32_t cie, uint32_t pc, uint32_t size,
				  const uint8_t *code, size_t code_size)
{
	size_t start = f->size;

	frames_u32(f, 0);
	frames_u32(f, (uint32_t)(start + 4 - cie));
	frames_u32(f, pc - (uint32_t)(IMAGE_FRAME + f->size));
	frames_u32(f, size);
	frames_put(f, BYTES(0)); /* no augmentation data */
	frames_put(f, code, code_size);
	frames_close(f, start);
	return (uint32_t)start;
}
