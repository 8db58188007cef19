/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information that nobody vouches for. The first byte says what the rest is: a whole ELF
 * file (even), or .eh_frame (odd) and behind it .debug_frame (bit 1) of an otherwise good one.
 * Whatever it is, a table that comes out is sorted, lies inside the code and finds its own rows.
 */
#include "unwind/lookup.h"
#include "unwind/table.h"

#include "../unwind/image.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct unwind_cell *cell(void *data, uint32_t index)
{
	const struct unwind_table *table = data;
	return index < table->pages + table->rows ? &table->cells[index] : NULL;
}

/* The kernel's way. */
static const struct unwind_row *find(struct unwind_table *table, uint32_t pc)
{
	struct unwind_search s;

	if (unwind_search_begin(&s, cell, table, table->pages, pc))
		return NULL;
	for (unsigned i = 0; i < UNWIND_SEARCH_STEPS && !unwind_search_step(&s, cell, i); i++)
		;
	return unwind_search_end(&s, cell);
}

static void check(struct unwind_table *table)
{
	struct err err;

	if (unwind_table_check(table, &err) < 0)
		abort();
	for (uint32_t i = 0; i < table->rows; i++) {
		const struct unwind_row *row = &table->cells[table->pages + i].row;
		if (unwind_table_find(table, table->base + row->pc) != row ||
		    find(table, row->pc) != row)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(unwind_table_release) struct unwind_table table = { 0 };
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	struct unwind_stats stats;
	struct image image = { .entry = IMAGE_TEXT };
	struct span file;

	if (!size)
		return 0;
	file = span_of(data + 1, size - 1);
	if (data[0] & 1) {
		size_t room = IMAGE_DEBUG - IMAGE_FRAME;
		size_t half = data[0] & 2 ? file.size / 2 : file.size;
		image.frame = span_of(file.data, half < room ? half : room);
		image.debug = span_of(file.data + half, file.size - half);
		if (image.debug.size > 0x400)
			image.debug.size = 0x400;
		file = image_finish(&image);
	}
	if (elf_open_memory(&elf, file, "fuzz", NULL) < 0)
		return 0;
	if (unwind_table_build(elf, &table, &stats, NULL) < 0)
		return 0;
	check(&table);
	if (data[0] & 1) {
		const struct unwind_row *last = &table.cells[table.pages + table.rows - 1].row;
		if (table.base < IMAGE_TEXT ||
		    table.base + last->pc > IMAGE_TEXT + IMAGE_TEXT_BYTES)
			abort();
	}
	return 0;
}
