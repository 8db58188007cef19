/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/walk.h"

const struct unwind_mapping *unwind_space_find(const struct unwind_space *space, uint64_t address)
{
	size_t low = 0, high = space->mapping_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (space->mappings[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= space->mappings[low - 1].end)
		return NULL;
	return &space->mappings[low - 1];
}

enum unwind_result unwind_space_step(const struct unwind_space *space,
				     const struct unwind_access *access, struct unwind_state *state)
{
	uint64_t pc = state->pc - state->is_return;
	const struct unwind_mapping *mapping = unwind_space_find(space, pc);
	const struct unwind_table *table;
	const struct unwind_row *row;

	if (!mapping || !mapping->table || mapping->table >= space->table_count)
		return UNWIND_NO_ROW;
	table = space->tables[mapping->table];
	row = table ? unwind_table_find(table, pc - mapping->base + table->base) : NULL;
	return row ? unwind_step(access, state, row) : UNWIND_NO_ROW;
}
