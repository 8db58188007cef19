/* SPDX-License-Identifier: Apache-2.0 */
/* Listing of objects whose lines are DWARF at the addresses that their offsets are. Internal. */
#pragma once

#include "device/target.h"

struct linked_how {
	/* Length of the instruction without disassembler; 0: not known. NULL: never is. */
	size_t (*length)(struct span code, size_t at);
	/* How far to go on where the length is not known. */
	uint8_t step;
	target_rewrite *target;
	/* Make what the compiler wrote what people read: change @lines, return their number. */
	size_t (*trim)(const struct device_object *o, const struct function *f,
		       struct chain_line *lines, size_t count);
	/* DWARF that is not in the object's own bytes, or not at these addresses; may be NULL. */
	struct span (*debug_bytes)(struct device_object *o);
	/* Intel's compiler does not say where inlined functions lie. */
	bool deduces_inlined;
};

int linked_list(struct device_object *o, size_t function, const struct linked_how *how);
