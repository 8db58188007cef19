/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes an object's unwind table (unwind_table.h) from the call frame information in its ELF file,
 * and looks addresses up in it. One pass, about 0.2 ms and 100 KB for each MB of code. The file is
 * not trusted: whatever it says, the table is sorted, lies inside the object's code and is bounded
 * in size and in the time it takes.
 */
#pragma once

#include "base/cleanup.h"
#include "elf/elf.h"
#include "unwind/unwind_table.h"

/* 128 MB of rows: ten times what libtorch_cpu has, the largest library measured. */
#define UNWIND_ROWS_MAX (16u << 20)
/* Functions; 20 times libtorch_cpu's. */
#define UNWIND_FDES_MAX (4u << 20)

struct unwind_table {
	uint64_t base; /* address in the object, as its program headers count; of a whole page */
	uint32_t pages, rows;
	struct unwind_cell *cells; /* index cells of all pages, then the rows */
};

/* What a table was made from. */
struct unwind_stats {
	uint64_t text_bytes;    /* code, as the program headers have it */
	uint64_t covered_bytes; /* of it, with unwind information */
	uint32_t fdes, bad_fdes;
	uint32_t unsupported_rows;
	bool used_search_table, used_debug_frame;
};

/*
 * -ENOENT when the file has no code or no unwind information, -ENOTSUP when it is of another
 * machine, -E2BIG beyond a limit, -ENOMEM. @stats may be NULL.
 */
int unwind_table_build(struct elf_file *elf, struct unwind_table *ret, struct unwind_stats *stats,
		       struct err *err);
void unwind_table_release(struct unwind_table *table);
DEFINE_CLEANUP_EMBEDDED(unwind_table_release, struct unwind_table)

static inline size_t unwind_table_bytes(const struct unwind_table *table)
{
	return ((size_t)table->pages + table->rows) * sizeof(struct unwind_cell);
}

/* The row that holds at @address (of the object), or NULL. */
const struct unwind_row *unwind_table_find(const struct unwind_table *table, uint64_t address);

/*
 * A table from somebody who may lie: the worker, which read the target's files. 0, or -EBADMSG with
 * what is wrong with it. In validate.c.
 */
int unwind_table_check(const struct unwind_table *table, struct err *err);
