/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/table.h"

#include "base/bisect.h"
#include "unwind/fdes.h"
#include "unwind/rules.h"

#include <errno.h>
#include <string.h>

/* Padding between functions, to the next multiple of 16: not worth a row. */
#define GAP_BYTES_MAX 15

/* Rows that a function has, on average, at most: what is reserved before the first (libtorch_cpu
 * has 5.5, libLLVM 8.6). */
#define ROWS_PER_FDE 9

/* Rows count from the base in 32 bits; a page below the end, so that nothing wraps. */
#define ROW_PC_MAX (UINT32_MAX - UNWIND_PAGE_BYTES)

struct builder {
	const struct unwind_image *image;
	const struct unwind_fdes *fdes;
	struct cie_cache *cies;
	uint64_t base;
	VEC(struct unwind_cell) cells;
	size_t pages;            /* index cells; rows follow */
	uint64_t covered;        /* where the last function ends */
	uint64_t code, code_end; /* the segment of the last function */
	bool is_signal;          /* what is being emitted */
	struct unwind_stats stats;
	struct err *err;
};

static int builder_push(struct builder *b, struct unwind_row row)
{
	if (b->cells.len > b->pages && vec_last(&b->cells)->row.pc >= row.pc)
		b->cells.len--; /* no instruction in between */
	if (b->cells.len > b->pages) {
		const struct unwind_row *last = &vec_last(&b->cells)->row;
		if (last->rule == row.rule && last->param == row.param && last->fp == row.fp)
			return 0;
	}
	if (b->cells.len - b->pages >= UNWIND_ROWS_MAX)
		return err_set(b->err, -E2BIG, "more than %u unwind rows in '%s'", UNWIND_ROWS_MAX,
			       elf_name(b->image->elf));
	if (vec_push(&b->cells, (struct unwind_cell){ .row = row }) < 0)
		return err_set(b->err, -ENOMEM, "unwind table of '%s'", elf_name(b->image->elf));
	return 0;
}

static int builder_mark(struct builder *b, uint64_t address, enum unwind_cfa cfa)
{
	struct unwind_row row = { .pc = (uint32_t)(address - b->base),
				  .rule = unwind_row_rule(cfa, UNWIND_FP_SAME) };

	return builder_push(b, row);
}

/* No function from b->covered to @end. The program's entry may be there, in assembly without CFI:
 * ld.so's is; nothing has called it. */
static int builder_gap(struct builder *b, uint64_t end)
{
	uint64_t entry = b->image->entry;
	bool has_entry = entry >= b->covered && entry < end;
	int rc = 0;

	if (!has_entry && end - b->covered <= GAP_BYTES_MAX)
		return 0;
	if (b->covered > b->base && !(has_entry && entry == b->covered))
		rc = builder_mark(b, b->covered, UNWIND_CFA_END);
	if (rc == 0 && has_entry)
		rc = builder_mark(b, entry, UNWIND_CFA_STOP);
	return rc;
}

static int builder_emit(void *data, uint64_t pc, const struct cfi_state *state)
{
	struct builder *b = data;
	struct unwind_row row = unwind_row_of((uint32_t)(pc - b->base), state, b->is_signal);

	/* A handler returns to the first instruction: its call, one byte before, is ours too. */
	if (b->is_signal && row.pc)
		row.pc--;
	if (unwind_row_cfa(&row) == UNWIND_CFA_UNSUPPORTED ||
	    unwind_row_fp(&row) == UNWIND_FP_UNKNOWN)
		b->stats.unsupported_rows++;
	return builder_push(b, row);
}

/* Rows from @address on belong to a function that another one begins in the middle of. */
static void builder_cut(struct builder *b, uint64_t address)
{
	while (b->cells.len > b->pages &&
	       vec_last(&b->cells)->row.pc >= (uint32_t)(address - b->base))
		b->cells.len--;
}

/* 0, or 1 when the FDE cannot be used. */
static int builder_add(struct builder *b, const struct unwind_fde *ref)
{
	const struct cfi_section *s =
		ref->offset & UNWIND_FDE_DEBUG ? &b->image->debug_frame : &b->image->eh_frame;
	uint64_t offset = ref->offset & ~UNWIND_FDE_DEBUG;
	const struct cfi_cie *cie;
	struct cfi_entry e;
	struct cfi_fde fde;
	uint64_t end;
	int rc;

	if (cfi_entry_read(s, offset, &e) < 0 || e.is_cie || e.is_terminator)
		return 1;
	cie = cie_cache_get(b->cies, s, e.cie);
	b->cies->work_bytes += e.end - offset;
	if (b->cies->work_bytes > cie_cache_limit(b->image))
		return err_set(b->err, -E2BIG, "call frame information of '%s' overlaps itself",
			       elf_name(b->image->elf));
	if (!cie || cfi_fde_read(s, &e, cie, &fde) < 0 ||
	    fde.start != b->image->text + ref->start || !fde.size)
		return 1;
	if (fde.start < b->code || fde.start >= b->code_end) {
		b->code = fde.start;
		b->code_end = unwind_image_code_end(b->image, fde.start);
	}
	end = b->code_end;
	if (end > b->base + ROW_PC_MAX)
		end = b->base + ROW_PC_MAX;
	if (fde.start >= end)
		return 1;
	if (fde.size > end - fde.start)
		fde.size = end - fde.start;
	if (fde.start < b->covered)
		builder_cut(b, fde.start);
	else if ((rc = builder_gap(b, fde.start)) < 0)
		return rc;
	b->is_signal = cie->is_signal;
	rc = cfi_run(cie, &fde, builder_emit, b);
	if (rc < 0)
		return rc;
	b->covered = fde.start + fde.size;
	b->stats.covered_bytes += fde.size;
	b->stats.fdes++;
	return 0;
}

static int builder_run(struct builder *b)
{
	const struct unwind_fde *last = NULL;
	uint64_t entry_end;
	int rc;

	for (size_t i = 0; i < b->fdes->list.len; i++) {
		const struct unwind_fde *ref = &b->fdes->list.data[i];
		/* Two FDEs for the same place, the better one first. */
		if (last && last->start == ref->start)
			continue;
		rc = builder_add(b, ref);
		if (rc < 0)
			return rc;
		if (rc == 0)
			last = ref;
		else if (b->fdes->used_search_table)
			return -ESTALE;
		else
			b->stats.bad_fdes++;
	}
	if (!last)
		return err_set(b->err, -ENOENT, "no unwind information in '%s'",
			       elf_name(b->image->elf));
	entry_end = unwind_image_code_end(b->image, b->image->entry);
	if (entry_end > b->covered && entry_end <= b->base + ROW_PC_MAX &&
	    b->image->entry >= b->covered)
		return builder_gap(b, entry_end);
	return builder_mark(b, b->covered, UNWIND_CFA_END);
}

/* Where rows begin, and how many pages there are at most. */
static int builder_begin(struct builder *b, const struct unwind_fdes *fdes)
{
	const struct unwind_image *image = b->image;
	uint64_t first, end = image->text_end - 1, pages;

	if (!fdes->list.len)
		return err_set(b->err, -ENOENT, "no unwind information in '%s'",
			       elf_name(image->elf));
	first = image->text + fdes->list.data[0].start;
	if (image->entry && image->entry < first && unwind_image_code_end(image, image->entry))
		first = image->entry;
	b->base = first & ~(uint64_t)(UNWIND_PAGE_BYTES - 1);
	if (end - b->base > ROW_PC_MAX)
		end = b->base + ROW_PC_MAX;
	/* One more for the row behind the end. */
	pages = ((end - b->base) >> UNWIND_PAGE_SHIFT) + 2;
	b->fdes = fdes;
	b->covered = b->base;
	b->cells.len = 0;
	memset(&b->stats, 0, sizeof(b->stats));
	if (vec_reserve(&b->cells, pages + fdes->list.len * ROWS_PER_FDE) < 0)
		return err_set(b->err, -ENOMEM, "unwind table of '%s'", elf_name(image->elf));
	memset(b->cells.data, 0, pages * sizeof(*b->cells.data));
	b->cells.len = b->pages = (size_t)pages;
	return 0;
}

/* Fill in the index, and cut off the pages behind the last row where they are many. */
static void builder_finish(struct builder *b, struct unwind_table *ret)
{
	struct unwind_cell *rows = b->cells.data + b->pages;
	size_t count = b->cells.len - b->pages, pages = b->pages;
	size_t used = (rows[count - 1].row.pc >> UNWIND_PAGE_SHIFT) + 1;
	uint32_t row = 0;

	if (pages - used > pages / 8) {
		memmove(b->cells.data + used, rows, count * sizeof(*rows));
		rows = b->cells.data + used;
		pages = used;
	}

	for (uint32_t page = 0; page < pages; page++) {
		struct unwind_index *index = &b->cells.data[page].index;
		index->first = row;
		while (row < count && rows[row].row.pc >> UNWIND_PAGE_SHIFT == page)
			row++;
		index->count = row - index->first;
	}
	struct unwind_cell *cells = realloc(b->cells.data, (pages + count) * sizeof(*cells));
	if (!cells)
		cells = b->cells.data; /* it only does not shrink */
	memset(&b->cells, 0, sizeof(b->cells));
	*ret = (struct unwind_table){
		.base = b->base, .pages = (uint32_t)pages, .rows = (uint32_t)count, .cells = cells
	};
}

static int table_try(struct builder *b, unsigned flags)
{
	CLEANUP(unwind_fdes_release) struct unwind_fdes fdes = { 0 };
	int rc = unwind_fdes_list(b->image, flags, &fdes, b->err);

	if (rc < 0)
		return rc;
	b->cies->work_bytes = 0;
	rc = builder_begin(b, &fdes);
	if (rc == 0)
		rc = builder_run(b);
	b->fdes = NULL;
	b->stats.text_bytes = b->image->text_end - b->image->text;
	b->stats.used_search_table = fdes.used_search_table;
	b->stats.used_debug_frame = flags & UNWIND_FDES_DEBUG;
	return rc;
}

int unwind_table_build(struct elf_file *elf, struct unwind_table *ret, struct unwind_stats *stats,
		       struct err *err)
{
	CLEANUP(unwind_image_release) struct unwind_image image = { 0 };
	CLEANUP_FREE struct cie_cache *cies = calloc(1, sizeof(*cies));
	struct builder b = { .image = &image, .cies = cies, .err = err };
	unsigned flags = UNWIND_FDES_SEARCH;
	int rc;

	if (!cies)
		return err_set(err, -ENOMEM, "unwind table of '%s'", elf_name(elf));
	rc = unwind_image_open(elf, &image, err);
	if (rc < 0)
		return rc;
	rc = table_try(&b, flags);
	if (rc == -ESTALE) /* the search table does not tell the truth */
		rc = table_try(&b, flags &= ~UNWIND_FDES_SEARCH);
	/* Programs built with -fno-asynchronous-unwind-tables -g have .eh_frame for the linker's
	 * and the C library's parts only. */
	if ((rc == 0 || rc == -ENOENT) && image.debug_frame.data.size &&
	    b.stats.covered_bytes < (image.text_end - image.text) / 2)
		rc = table_try(&b, flags | UNWIND_FDES_DEBUG);
	if (rc == -ESTALE)
		rc = table_try(&b, (flags & ~UNWIND_FDES_SEARCH) | UNWIND_FDES_DEBUG);
	if (rc == 0)
		builder_finish(&b, ret);
	vec_release(&b.cells);
	if (rc == 0 && stats)
		*stats = b.stats;
	return rc;
}

void unwind_table_release(struct unwind_table *table)
{
	free(table->cells);
	memset(table, 0, sizeof(*table));
}

const struct unwind_row *unwind_table_find(const struct unwind_table *table, uint64_t address)
{
	uint64_t pc = address - table->base;
	const struct unwind_cell *rows = table->cells + table->pages;
	const struct unwind_index *index;
	size_t below;

	if (address < table->base || pc >> UNWIND_PAGE_SHIFT >= table->pages)
		return NULL;
	index = &table->cells[pc >> UNWIND_PAGE_SHIFT].index;
	below = index->first + bisect(index->count, i, rows[index->first + i].row.pc <= pc);
	return below ? &rows[below - 1].row : NULL;
}
