/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the row of an address, the same way in the kernel and in user space; each says how it
 * gets at a cell. Bounded without trust in the table: at most UNWIND_SEARCH_STEPS + 2 cells are
 * read, whatever they hold.
 */
#pragma once

#include "unwind/unwind_table.h"

/*
 * The cell @index of a table, or NULL beyond its end. The rows' own order is what matters; an index
 * that lies makes a wrong row at worst.
 */
typedef const struct unwind_cell *(*unwind_cell_fn)(void *data, uint32_t index);

/* The last row at or before @pc, which counts from the table's base; 0, or nonzero for none. */
static inline __attribute__((always_inline)) int unwind_find(unwind_cell_fn cell, void *data,
							     uint32_t pages, uint32_t pc,
							     struct unwind_row *ret)
{
	uint32_t page = pc >> UNWIND_PAGE_SHIFT, first, count, found = 0;
	const struct unwind_cell *at;

	if (page >= pages)
		return -1;
	at = cell(data, page);
	if (!at)
		return -1;
	first = at->index.first;
	count = at->index.count;
	/* How many of the page's rows begin at or before pc. */
	for (uint32_t step = 1u << (UNWIND_SEARCH_STEPS - 1); step; step >>= 1) {
		if (found + step > count)
			continue;
		at = cell(data, pages + first + found + step - 1);
		if (!at)
			return -1;
		if (at->row.pc <= pc)
			found += step;
	}
	if (!first && !found)
		return -1;
	at = cell(data, pages + first + found - 1);
	if (!at)
		return -1;
	*ret = at->row;
	return 0;
}
