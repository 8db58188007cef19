/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the row of an address, the same way in the kernel and in user space; each says how it
 * gets at a cell and how it loops. Bounded without trust in the table: UNWIND_SEARCH_STEPS + 2 cells
 * are read at most, whatever they hold; an index that lies makes a wrong row at worst.
 *
 *	if (unwind_search_begin(&s, cell, table, pages, pc))
 *		no row
 *	for i from 0 below UNWIND_SEARCH_STEPS, while it gives 0: unwind_search_step(&s, cell, i)
 *	row = unwind_search_end(&s, cell), NULL: no row
 */
#pragma once

#include "unwind/unwind_table.h"

#define UNWIND_INLINE static inline __attribute__((always_inline))

/* The cell @index of a table, or NULL beyond its end. */
typedef const struct unwind_cell *(*unwind_cell_fn)(void *table, uint32_t index);

struct unwind_search {
	void *table;
	uint32_t rows;  /* cell of the page's first row */
	uint32_t count; /* rows that begin in the page */
	uint32_t found; /* of them, how many begin at or before pc, so far */
	uint32_t step;  /* of the first turn, halved in each */
	uint32_t pc;
	uint32_t first; /* row before which there is none */
};

/* @pc counts from the table's base. Nonzero: there is no row. */
UNWIND_INLINE int unwind_search_begin(struct unwind_search *s, unwind_cell_fn cell, void *table,
				      uint32_t pages, uint32_t pc)
{
	uint32_t page = pc >> UNWIND_PAGE_SHIFT;
	const struct unwind_cell *at;

	if (page >= pages)
		return -1;
	at = cell(table, page);
	if (!at)
		return -1;
	s->table = table;
	s->rows = pages + at->index.first;
	s->count = at->index.count;
	s->found = 0;
	/* Nearly all pages have less than 32 rows: half of the steps then. */
	s->step = s->count < 32 ? 16 : 1u << (UNWIND_SEARCH_STEPS - 1);
	s->pc = pc;
	s->first = pages;
	return 0;
}

/* Nonzero: done. The step follows from @i and is not kept: the kernel's verifier would look at the loop
 * once for each value that it knows. */
UNWIND_INLINE int unwind_search_step(struct unwind_search *s, unwind_cell_fn cell, uint32_t i)
{
	uint32_t step = s->step >> (i & 31);
	uint32_t next = s->found + step;

	if (next <= s->count) {
		const struct unwind_cell *at = cell(s->table, s->rows + next - 1);
		if (!at)
			return 1;
		if (at->row.pc <= s->pc)
			s->found = next;
	}
	return step <= 1;
}

/* The last row at or before pc, perhaps of an earlier page. */
UNWIND_INLINE const struct unwind_row *unwind_search_end(struct unwind_search *s,
							 unwind_cell_fn cell)
{
	const struct unwind_cell *at;
	uint32_t row = s->rows + s->found;

	if (row == s->first)
		return (void *)0;
	at = cell(s->table, row - 1);
	return at ? &at->row : (void *)0;
}
