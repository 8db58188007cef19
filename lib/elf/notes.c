/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* Notes are a few hundred bytes; core files have large ones, with no build-id of their own. */
#define NOTES_BYTES_MAX (64u << 10)

/* Walks by the gABI's "Note Section": names and descriptors are padded to 4 bytes. GNU property
 * notes are padded to 8, but the linkers put them into a section and a segment of their own. */
int elf_notes_build_id(struct span notes, struct elf_build_id *ret)
{
	struct cursor c = cursor_of(notes, NULL);

	while (cursor_left(&c)) {
		uint32_t name_size, desc_size, type;
		struct span name, desc;
		if (cursor_u32(&c, &name_size, NULL) < 0 || cursor_u32(&c, &desc_size, NULL) < 0 ||
		    cursor_u32(&c, &type, NULL) < 0 ||
		    cursor_bytes(&c, name_size, &name, NULL) < 0 ||
		    cursor_skip(&c, -name_size & 3, NULL) < 0 ||
		    cursor_bytes(&c, desc_size, &desc, NULL) < 0)
			return -ENOENT;
		if (type == NT_GNU_BUILD_ID && name_size == 4 && !memcmp(name.data, "GNU", 4) &&
		    desc_size && desc_size <= ELF_BUILD_ID_MAX) {
			memcpy(ret->bytes, desc.data, desc_size);
			ret->size = desc_size;
			return 0;
		}
		if (cursor_skip(&c, -desc_size & 3, NULL) < 0)
			return -ENOENT;
	}
	return -ENOENT;
}

static int search(const struct elf_file *f, uint64_t offset, uint64_t size,
		  struct elf_build_id *ret)
{
	if (!size || size > NOTES_BYTES_MAX)
		return -ENOENT;
	CLEANUP_FREE uint8_t *notes = malloc(size);
	if (!notes)
		return -ENOMEM;
	if (elf_read(f, offset, notes, size) < 0)
		return -ENOENT;
	return elf_notes_build_id(span_of(notes, size), ret);
}

int elf_build_id(const struct elf_file *f, struct elf_build_id *ret)
{
	/* Sections first: in a separate debug file the segments' offsets are those of the stripped
	 * file and mean nothing. */
	for (size_t i = 1; i < elf_section_count(f); i++) {
		struct elf_section s = elf_section_get(f, i);
		if (s.type == SHT_NOTE && search(f, s.offset, s.size, ret) == 0)
			return 0;
	}
	for (size_t i = 0; i < elf_segment_count(f); i++) {
		struct elf_segment p = elf_segment_get(f, i);
		if (p.type == PT_NOTE && search(f, p.offset, p.file_bytes, ret) == 0)
			return 0;
	}
	return -ENOENT;
}
