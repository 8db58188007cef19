/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking a stack by unwind tables in user space, with the same step as the kernel's (x86_64.h).
 * Knows where code is mapped, not whose it is nor what it is called.
 */
#pragma once

#include "unwind/table.h"
#include "unwind/x86_64.h"

/* What a mapping's `table` stands for. */
struct unwind_object {
	const struct unwind_table *table; /* NULL: it has none */
	struct elf_file *elf;             /* for what rows cannot say; NULL: without that */
};

/* One address space: borrowed parts. */
struct unwind_space {
	const struct unwind_mapping *mappings; /* sorted by address, not overlapping */
	size_t mapping_count;
	const struct unwind_object *objects; /* by number; number 0 is not used */
	size_t object_count;
};

/* Where nothing is mapped: [start, end). */
struct unwind_gap {
	uint64_t start, end;
};

/* The mapping that @address is in, or NULL. */
const struct unwind_mapping *unwind_space_find(const struct unwind_space *space, uint64_t address);
/* The same; if NULL, @ret_gap is where @address is instead. */
const struct unwind_mapping *unwind_space_look(const struct unwind_space *space, uint64_t address,
					       struct unwind_gap *ret_gap);
/* Its object, or NULL where it has no table. */
const struct unwind_object *unwind_space_object(const struct unwind_space *space,
						const struct unwind_mapping *mapping);
/* The address in the object that is at @address of the process. */
static inline uint64_t unwind_object_address(const struct unwind_object *object,
					     const struct unwind_mapping *mapping, uint64_t address)
{
	return address - mapping->base + object->table->base;
}

/* To the caller's frame. On anything but UNWIND_OK the state is as before. */
enum unwind_result unwind_space_step(const struct unwind_space *space,
				     const struct unwind_access *access,
				     struct unwind_state *state);
