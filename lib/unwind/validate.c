/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/table.h"

#include <errno.h>

static int table_fail(struct err *err, const char *what, uint32_t number)
{
	return err_set(err, -EBADMSG, "unwind table: %s (%u)", what, number);
}

static int row_check(const struct unwind_row *row, uint32_t number, struct err *err)
{
	if (unwind_row_cfa(row) >= UNWIND_CFA_COUNT)
		return table_fail(err, "row of an unknown kind", number);
	if (unwind_row_fp(row) > UNWIND_FP_UNKNOWN)
		return table_fail(err, "row with an unknown frame pointer rule", number);
	return 0;
}

int unwind_table_check(const struct unwind_table *table, struct err *err)
{
	const struct unwind_cell *rows = table->cells + table->pages;
	uint32_t row = 0;

	if (!table->rows || !table->pages || table->rows > UNWIND_ROWS_MAX ||
	    table->pages > (UINT32_MAX >> UNWIND_PAGE_SHIFT) + 1)
		return table_fail(err, "size out of range", table->rows);
	if (table->base % UNWIND_PAGE_BYTES ||
	    table->base > UINT64_MAX - ((uint64_t)table->pages << UNWIND_PAGE_SHIFT))
		return table_fail(err, "base out of range", table->pages);
	for (uint32_t page = 0; page < table->pages; page++) {
		const struct unwind_index *index = &table->cells[page].index;
		if (index->first != row)
			return table_fail(err, "index does not follow the rows", page);
		if (index->count > table->rows - row)
			return table_fail(err, "index leaves the rows", page);
		for (uint32_t i = 0; i < index->count; i++, row++) {
			const struct unwind_row *r = &rows[row].row;
			if (r->pc >> UNWIND_PAGE_SHIFT != page)
				return table_fail(err, "row outside its page", row);
			if (i && r->pc <= rows[row - 1].row.pc)
				return table_fail(err, "rows out of order", row);
			int rc = row_check(r, row, err);
			if (rc < 0)
				return rc;
		}
	}
	return row == table->rows ? 0 : table_fail(err, "rows without an index", row);
}
