/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/fdes.h"
#include "base/radix.h"
#include "unwind/table.h"

#include <errno.h>
#include <string.h>

const struct cfi_cie *cie_cache_get(struct cie_cache *cache, const struct cfi_section *s,
				    uint64_t offset)
{
	uint64_t key = (offset + 1) | (s->is_eh ? 0 : 1ull << 63);
	struct cie_slot *slot = &cache->slots[(offset >> 3) % CIE_CACHE_SLOTS];

	if (slot->key != key) {
		struct cfi_entry e;
		slot->key = key;
		slot->rc = cfi_entry_read(s, offset, &e);
		if (slot->rc == 0) {
			slot->rc = cfi_cie_read(s, offset, &slot->cie);
			cache->work_bytes += e.end - offset;
		}
	}
	return slot->rc < 0 ? NULL : &slot->cie;
}

static int fdes_add(struct unwind_fdes *fdes, const struct unwind_image *image, uint64_t address,
		    uint64_t offset, uint32_t flag, struct err *err)
{
	if (address < image->text || address - image->text > UINT32_MAX ||
	    offset >= UNWIND_FDE_DEBUG)
		return 0;
	if (fdes->list.len == UNWIND_FDES_MAX)
		return err_set(err, -E2BIG, "more than %u functions in '%s'", UNWIND_FDES_MAX,
			       elf_name(image->elf));
	struct unwind_fde fde = { (uint32_t)(address - image->text), (uint32_t)offset | flag };
	if (vec_push(&fdes->list, fde) < 0)
		return err_set(err, -ENOMEM, "functions of '%s'", elf_name(image->elf));
	return 0;
}

/* From .eh_frame_hdr, if that is in order: 1, else 0. */
static int fdes_search(struct unwind_fdes *fdes, const struct unwind_image *image, struct err *err)
{
	size_t count = image->search.size / 8;
	uint64_t last = 0;

	if (!count || count > UNWIND_FDES_MAX)
		return 0;
	if (vec_reserve(&fdes->list, count) < 0)
		return err_set(err, -ENOMEM, "functions of '%s'", elf_name(image->elf));
	for (size_t i = 0; i < count; i++) {
		int32_t entry[2];
		memcpy(entry, image->search.data + i * 8, sizeof(entry));
		uint64_t address = image->search_base + (uint64_t)(int64_t)entry[0];
		uint64_t fde = image->search_base + (uint64_t)(int64_t)entry[1];
		if ((i && address <= last) || fde < image->eh_frame.address ||
		    fde - image->eh_frame.address >= image->eh_frame.data.size)
			return 0;
		last = address;
		int rc = fdes_add(fdes, image, address, fde - image->eh_frame.address, 0, err);
		if (rc < 0)
			return rc;
	}
	return 1;
}

/* Every FDE of a section, one after the other. */
static int fdes_walk(struct unwind_fdes *fdes, const struct unwind_image *image,
		     const struct cfi_section *s, struct err *err)
{
	CLEANUP_FREE struct cie_cache *cache = calloc(1, sizeof(*cache));
	struct cfi_entry e;

	if (!cache)
		return err_set(err, -ENOMEM, "functions of '%s'", elf_name(image->elf));
	for (uint64_t at = 0; at < s->data.size; at = e.end) {
		uint64_t start, where;

		if (cfi_entry_read(s, at, &e) < 0)
			break; /* what follows a wrong length cannot be found */
		/* Linkers leave the terminators of crtend.o inside; a section without a header
		 * ends at the first, as its size is not known. */
		if (e.is_terminator && image->owned[1])
			break;
		if (e.is_terminator || e.is_cie)
			continue;
		const struct cfi_cie *cie = cie_cache_get(cache, s, e.cie);
		if (cache->work_bytes > cie_cache_limit(image))
			return err_set(err, -E2BIG, "too many CIEs in '%s'", elf_name(image->elf));
		where = e.body;
		if (!cie || cfi_pointer_read(s, cie->pointer_encoding, &where, &start) < 0)
			continue;
		/* Functions that the linker threw away keep their debug information, at 0. */
		if (!s->is_eh && !start)
			continue;
		int rc = fdes_add(fdes, image, start, at, s->is_eh ? 0 : UNWIND_FDE_DEBUG, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* By start, then by section and offset, as they were added. */
static int fdes_sort(struct unwind_fdes *fdes)
{
	size_t count = fdes->list.len;
	bool is_sorted = true;

	for (size_t i = 1; is_sorted && i < count; i++)
		is_sorted = fdes->list.data[i - 1].start <= fdes->list.data[i].start;
	if (is_sorted)
		return 0;

	CLEANUP_FREE struct radix_item *items = malloc(count * sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		items[i] =
			(struct radix_item){ fdes->list.data[i].start, fdes->list.data[i].offset };
	if (radix_sort(items, count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		fdes->list.data[i] =
			(struct unwind_fde){ (uint32_t)items[i].key, (uint32_t)items[i].value };
	return 0;
}

int unwind_fdes_list(const struct unwind_image *image, unsigned flags, struct unwind_fdes *ret,
		     struct err *err)
{
	CLEANUP(unwind_fdes_release) struct unwind_fdes fdes = { 0 };
	int rc = flags & UNWIND_FDES_SEARCH ? fdes_search(&fdes, image, err) : 0;

	if (rc < 0)
		return rc;
	fdes.used_search_table = rc;
	if (!fdes.used_search_table) {
		fdes.list.len = 0;
		rc = fdes_walk(&fdes, image, &image->eh_frame, err);
		if (rc < 0)
			return rc;
	}
	if (flags & UNWIND_FDES_DEBUG) {
		rc = fdes_walk(&fdes, image, &image->debug_frame, err);
		if (rc < 0)
			return rc;
	}
	if (fdes_sort(&fdes) < 0)
		return err_set(err, -ENOMEM, "functions of '%s'", elf_name(image->elf));
	*ret = fdes;
	memset(&fdes, 0, sizeof(fdes));
	return 0;
}

void unwind_fdes_release(struct unwind_fdes *fdes)
{
	vec_release(&fdes->list);
}
