/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/image.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <string.h>

/* Call frame information without section headers: 8 times libtorch_cpu's. */
#define IMAGE_COPY_MAX (64u << 20)

static bool is_code(const struct elf_segment *s)
{
	return s->type == PT_LOAD && (s->flags & PF_X) && s->memory_bytes &&
	       s->memory_bytes <= UINT64_MAX - s->vaddr;
}

uint64_t unwind_image_code_end(const struct unwind_image *image, uint64_t address)
{
	for (size_t i = 0; i < elf_segment_count(image->elf); i++) {
		struct elf_segment s = elf_segment_get(image->elf, i);
		if (is_code(&s) && address >= s.vaddr && address - s.vaddr < s.memory_bytes)
			return s.vaddr + s.memory_bytes;
	}
	return 0;
}

static int image_text(struct unwind_image *image, uint64_t *ret_search, struct err *err)
{
	image->text = UINT64_MAX;
	image->text_end = 0;
	for (size_t i = 0; i < elf_segment_count(image->elf); i++) {
		struct elf_segment s = elf_segment_get(image->elf, i);
		if (s.type == PT_GNU_EH_FRAME)
			*ret_search = s.vaddr;
		if (!is_code(&s))
			continue;
		if (s.vaddr < image->text)
			image->text = s.vaddr;
		if (s.vaddr + s.memory_bytes > image->text_end)
			image->text_end = s.vaddr + s.memory_bytes;
	}
	if (image->text < image->text_end)
		return 0;
	return err_set(err, -ENOENT, "no segment with code in '%s'", elf_name(image->elf));
}

static void image_section(struct elf_file *elf, const char *name, struct cfi_section *ret)
{
	struct elf_section section;
	struct span data;

	if (elf_section_find(elf, name, &section) < 0 ||
	    elf_section_data(elf, &section, &data, NULL) < 0)
		return; /* without it the table is smaller, no more */
	ret->data = data;
	ret->address = section.addr;
}

/* A copy of memory from @address to the end of what the file holds of its segment. */
static int image_memory(struct unwind_image *image, uint64_t address, void **ret_owned,
			struct span *ret)
{
	for (size_t i = 0; i < elf_segment_count(image->elf); i++) {
		struct elf_segment s = elf_segment_get(image->elf, i);
		uint64_t into = address - s.vaddr, size = s.file_bytes - into;

		if (s.type != PT_LOAD || address < s.vaddr || into >= s.file_bytes)
			continue;
		if (size > elf_file_bytes(image->elf))
			return -EBADMSG;
		if (size > IMAGE_COPY_MAX)
			size = IMAGE_COPY_MAX;
		CLEANUP_FREE void *copy = malloc((size_t)size);
		if (!copy)
			return -ENOMEM;
		if (elf_read(image->elf, s.offset + into, copy, (size_t)size) < 0)
			return -EBADMSG;
		*ret = span_of(copy, (size_t)size);
		*ret_owned = TAKE(copy);
		return 0;
	}
	return -EBADMSG;
}

/* .eh_frame_hdr (LSB 5, 10.6.2): where .eh_frame is, and a table of its FDEs by address. */
static void image_search_table(struct unwind_image *image, struct elf_file *elf, uint64_t address)
{
	struct cfi_section hdr = { 0 };
	uint8_t head[4];
	uint64_t at = sizeof(head), frame, count;

	image_section(elf, ".eh_frame_hdr", &hdr);
	if (!hdr.data.size || hdr.address != address) {
		hdr.address = address;
		if (image_memory(image, address, &image->owned[0], &hdr.data) < 0)
			return;
	}
	hdr.data_base = hdr.address;
	if (hdr.data.size < sizeof(head))
		return;
	memcpy(head, hdr.data.data, sizeof(head));
	if (head[0] != 1 || cfi_pointer_read(&hdr, head[1], &at, &frame) < 0)
		return;
	if (!image->eh_frame.data.size) {
		image->eh_frame.address = frame;
		if (image_memory(image, frame, &image->owned[1], &image->eh_frame.data) < 0)
			return;
	}
	if (frame != image->eh_frame.address || head[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4) ||
	    head[2] == DW_EH_PE_omit || cfi_pointer_read(&hdr, head[2], &at, &count) < 0 ||
	    count > hdr.data.size / 8 || span_slice(hdr.data, at, count * 8, &image->search) < 0)
		return;
	image->search_base = hdr.address;
}

int unwind_image_open(struct elf_file *elf, struct unwind_image *ret, struct err *err)
{
	CLEANUP(unwind_image_release) struct unwind_image image = { .elf = elf };
	struct elf_header header = elf_header(elf);
	struct elf_section text;
	uint64_t search = 0;
	int rc;

	if (header.machine != EM_X86_64)
		return err_set(err, -ENOTSUP, "'%s' is not for x86-64", elf_name(elf));
	image.entry = header.entry;
	image.eh_frame.is_eh = true;
	rc = image_text(&image, &search, err);
	if (rc < 0)
		return rc;
	image_section(elf, ".eh_frame", &image.eh_frame);
	image_section(elf, ".debug_frame", &image.debug_frame);
	if (elf_section_find(elf, ".text", &text) == 0)
		image.eh_frame.text_base = text.addr;
	if (search)
		image_search_table(&image, elf, search);
	*ret = image;
	memset(image.owned, 0, sizeof(image.owned));
	return 0;
}

void unwind_image_release(struct unwind_image *image)
{
	for (size_t i = 0; i < ARRAY_SIZE(image->owned); i++)
		free(image->owned[i]);
	memset(image, 0, sizeof(*image));
}
