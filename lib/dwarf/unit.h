/* SPDX-License-Identifier: Apache-2.0 */
/* One compilation unit: its functions by address, chains of inlined ones, its lines. Internal. */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "dwarf/debug_info.h"
#include "dwarf/scopes.h"

/* [low, high) belongs to the function whose DIE is at @die, in .debug_info as it lies in memory. */
struct unit_function {
	uint64_t low, high;
	uint64_t max_high; /* of this and all that start before it: ends the search for overlaps */
	void *die;
};

/* Inlined functions kept for the next address in the same function; beyond, all are dropped. 128 MB. */
#define UNIT_SCOPES_MAX (2u << 20)

struct unit {
	Dwarf_Die lines_die; /* the unit; its skeleton where the DWARF is split */
	Dwarf_Die die;       /* what holds the functions */
	VEC(struct unit_function) functions;
	VEC(struct scopes) scopes; /* of functions that were asked about */
	struct hash scopes_of;     /* function's DIE -> index of scopes */
	size_t scope_count;
	Dwarf_Lines *lines;
	size_t line_count;
	enum unit_state {
		UNIT_UNREAD,
		UNIT_SHALLOW, /* functions of the unit, its namespaces and types */
		UNIT_DEEP,    /* functions inside functions too */
	} state;
	bool has_lines_read;
};

void unit_release(struct unit *u);

/* Read the unit's functions. -ETIME leaves it as it was. */
int unit_read_functions(struct unit *u, struct walk *w, bool is_deep);
/* As debug_info_at(), within this unit. */
int unit_at(struct unit *u, struct walk *w, uint64_t vaddr, struct debug_place *ret);
