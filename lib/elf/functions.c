/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/functions.h"

#include "base/bisect.h"
#include "base/vec.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

/* The encodings that ld, gold, lld and mold write: DW_EH_PE_udata4 for the count, DW_EH_PE_datarel |
 * DW_EH_PE_sdata4 for the table. */
#define COUNT_ENCODING 0x03
#define TABLE_ENCODING 0x3b

struct elf_functions {
	struct elf_file *file;
	VEC(uint64_t) starts; /* sorted */
};

void elf_functions_free(struct elf_functions *t)
{
	if (!t)
		return;
	vec_release(&t->starts);
	free(t);
}

/* The bytes of a DW_EH_PE pointer, by its low four bits; 0: of variable size. */
static size_t pointer_size(uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case 0x00: /* absptr */
	case 0x04: /* udata8 */
	case 0x0c: /* sdata8 */
		return 8;
	case 0x02:
	case 0x0a:
		return 2;
	case 0x03:
	case 0x0b:
		return 4;
	default:
		return 0;
	}
}

static int compare_starts(const void *va, const void *vb)
{
	const uint64_t *a = va, *b = vb;
	return *a < *b ? -1 : *a > *b;
}

static bool is_sorted(const struct elf_functions *t)
{
	for (size_t i = 1; i < t->starts.len; i++) {
		if (t->starts.data[i - 1] > t->starts.data[i])
			return false;
	}
	return true;
}

static int read_table(struct elf_functions *t, struct span data, uint64_t base)
{
	struct cursor c = cursor_of(data, NULL);
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	uint32_t count;

	if (cursor_u8(&c, &version, NULL) < 0 || cursor_u8(&c, &frame_encoding, NULL) < 0 ||
	    cursor_u8(&c, &count_encoding, NULL) < 0 || cursor_u8(&c, &table_encoding, NULL) < 0 ||
	    version != 1 || count_encoding != COUNT_ENCODING || table_encoding != TABLE_ENCODING)
		return 0;
	size_t skip = pointer_size(frame_encoding);
	if (!skip || cursor_skip(&c, skip, NULL) < 0 || cursor_u32(&c, &count, NULL) < 0)
		return 0;
	/* Two offsets an entry; what the file has room for counts, not what it says. */
	if (count > cursor_left(&c) / 8)
		count = (uint32_t)(cursor_left(&c) / 8);
	if (vec_reserve(&t->starts, count) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t offset, frame;
		if (cursor_u32(&c, &offset, NULL) < 0 || cursor_u32(&c, &frame, NULL) < 0)
			break;
		t->starts.data[t->starts.len++] = base + (uint64_t)(int64_t)(int32_t)offset;
	}
	/* Sorted by the linker, but that is the file's word. */
	if (!is_sorted(t))
		qsort(t->starts.data, t->starts.len, sizeof(*t->starts.data), compare_starts);
	return 0;
}

int elf_functions_new(struct elf_functions **ret, struct elf_file *f, struct err *err)
{
	CLEANUP(elf_functions_free) struct elf_functions *t = calloc(1, sizeof(*t));
	struct elf_section section;
	struct span data;

	if (!t)
		return err_set(err, -ENOMEM, "'%s'", elf_name(f));
	t->file = f;
	if (elf_section_find(f, ".eh_frame_hdr", &section) == 0 &&
	    elf_section_data(f, &section, &data, NULL) == 0 &&
	    read_table(t, data, section.addr) < 0)
		return err_set(err, -ENOMEM, "'%s'", elf_name(f));
	*ret = TAKE(t);
	return 0;
}

size_t elf_functions_count(const struct elf_functions *t)
{
	return t->starts.len;
}

/* The executable section that holds @vaddr. */
static int find_section(const struct elf_file *f, uint64_t vaddr, struct elf_section *ret)
{
	for (size_t i = 1; i < elf_section_count(f); i++) {
		struct elf_section s = elf_section_get(f, i);
		if ((s.flags & SHF_EXECINSTR) && vaddr >= s.addr && vaddr - s.addr < s.size) {
			*ret = s;
			return 0;
		}
	}
	return -ENOENT;
}

int elf_functions_at(const struct elf_functions *t, uint64_t vaddr, uint64_t *ret_start,
		     uint64_t *ret_end)
{
	struct elf_section section;
	size_t below = bisect(t->starts.len, i, t->starts.data[i] <= vaddr);

	if (!below || find_section(t->file, vaddr, &section) < 0 ||
	    t->starts.data[below - 1] < section.addr)
		return -ENOENT;
	uint64_t end = section.addr + section.size;
	if (below < t->starts.len && t->starts.data[below] < end)
		end = t->starts.data[below];
	*ret_start = t->starts.data[below - 1];
	*ret_end = end;
	return 0;
}
