/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/walk.h"

#include "base/bisect.h"

const struct unwind_mapping *unwind_space_find(const struct unwind_space *space, uint64_t address)
{
	struct unwind_gap gap;

	return unwind_space_look(space, address, &gap);
}

const struct unwind_mapping *unwind_space_look(const struct unwind_space *space, uint64_t address,
					       struct unwind_gap *ret_gap)
{
	size_t below = bisect(space->mapping_count, i, space->mappings[i].start <= address);

	if (below && address < space->mappings[below - 1].end)
		return &space->mappings[below - 1];
	ret_gap->start = below ? space->mappings[below - 1].end : 0;
	ret_gap->end = below < space->mapping_count ? space->mappings[below].start : UINT64_MAX;
	return NULL;
}

const struct unwind_object *unwind_space_object(const struct unwind_space *space,
						const struct unwind_mapping *mapping)
{
	const struct unwind_object *object;

	if (!mapping || !mapping->table || mapping->table >= space->object_count)
		return NULL;
	object = &space->objects[mapping->table];
	return object->table ? object : NULL;
}

enum unwind_result unwind_space_step(const struct unwind_space *space,
				     const struct unwind_access *access, struct unwind_state *state)
{
	uint64_t pc = state->pc - state->is_return;
	const struct unwind_mapping *mapping = unwind_space_find(space, pc);
	const struct unwind_object *object = unwind_space_object(space, mapping);
	const struct unwind_row *row;

	if (!object)
		return UNWIND_NO_ROW;
	row = unwind_table_find(object->table, unwind_object_address(object, mapping, pc));
	return row ? unwind_step(access, state, row) : UNWIND_NO_ROW;
}
