/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* The page size that linkers assume where the segment does not say. */
#define PAGE_BYTES 4096u

int elf_vaddr_to_offset(const struct elf_file *f, uint64_t vaddr, uint64_t *ret)
{
	for (size_t i = 0; i < elf_segment_count(f); i++) {
		struct elf_segment p = elf_segment_get(f, i);
		if (p.type == PT_LOAD && vaddr >= p.vaddr && vaddr - p.vaddr < p.file_bytes) {
			*ret = p.offset + (vaddr - p.vaddr);
			return 0;
		}
	}
	return -ENOENT;
}

/* Which of two segments that are mapped over an offset it belongs to: higher is better, 0 is none. */
static int offset_fit(const struct elf_segment *p, uint64_t offset)
{
	uint64_t padding = p->offset % PAGE_BYTES;
	uint64_t start = p->offset - padding;
	uint64_t end; /* of the last page */

	if (p->type != PT_LOAD || offset < start)
		return 0;
	if (__builtin_add_overflow(p->offset, p->file_bytes, &end) ||
	    __builtin_add_overflow(end, -end % PAGE_BYTES, &end) || offset >= end)
		return 0;
	bool is_exact = offset >= p->offset && offset - p->offset < p->file_bytes;
	return 1 + (is_exact ? 1 : 0) + (p->flags & PF_X ? 2 : 0);
}

int elf_offset_to_vaddr(const struct elf_file *f, uint64_t offset, uint64_t *ret)
{
	int best = 0;

	for (size_t i = 0; i < elf_segment_count(f); i++) {
		struct elf_segment p = elf_segment_get(f, i);
		int fit = offset_fit(&p, offset);
		if (fit > best) {
			best = fit;
			*ret = p.vaddr + (offset - p.offset);
		}
	}
	return best ? 0 : -ENOENT;
}

int elf_read_vaddr(const struct elf_file *f, uint64_t vaddr, void *data, size_t size)
{
	for (size_t i = 0; i < elf_segment_count(f); i++) {
		struct elf_segment p = elf_segment_get(f, i);
		if (p.type != PT_LOAD || vaddr < p.vaddr || vaddr - p.vaddr > p.memory_bytes ||
		    size > p.memory_bytes - (vaddr - p.vaddr))
			continue;
		uint64_t skip = vaddr - p.vaddr;
		size_t stored = 0;
		if (skip < p.file_bytes)
			stored = size < p.file_bytes - skip ? size : p.file_bytes - skip;
		int rc = elf_read(f, p.offset + skip, data, stored);
		if (rc < 0)
			return rc;
		memset((uint8_t *)data + stored, 0, size - stored);
		return 0;
	}
	return -EBADMSG;
}
