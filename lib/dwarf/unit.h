/* SPDX-License-Identifier: Apache-2.0 */
/* One compilation unit: its functions by address, chains of inlined ones, its lines. Internal. */
#pragma once

#include "base/vec.h"
#include "dwarf/debug_info.h"

#include <elfutils/libdw.h>

/* [low, high) belongs to the function whose DIE is at @die, in .debug_info as it lies in memory. */
struct unit_function {
	uint64_t low, high;
	uint64_t max_high; /* of this and all that start before it: ends the search for overlaps */
	void *die;
};

struct unit {
	Dwarf_Die lines_die; /* the unit; its skeleton where the DWARF is split */
	Dwarf_Die die;       /* what holds the functions */
	VEC(struct unit_function) functions;
	Dwarf_Lines *lines;
	size_t line_count;
	enum unit_state {
		UNIT_UNREAD,
		UNIT_SHALLOW, /* functions of the unit, its namespaces and types */
		UNIT_DEEP,    /* functions inside functions too */
	} state;
	bool has_lines_read;
};

/* What holds while one address is looked up. */
struct unit_walk {
	uint64_t deadline_ns; /* 0: none */
	unsigned steps;
	bool is_zero_code; /* the file has code at address 0; else that marks discarded functions */
	VEC(Dwarf_Die) chain; /* scratch: inlined functions, outermost first */
};

void unit_release(struct unit *u);

/* -ETIME when the deadline has passed; looks at the clock only now and then. */
int unit_walk_step(struct unit_walk *w);
/* Call @fn for each range of addresses of @die that can be live code. */
int unit_walk_ranges(const struct unit_walk *w, Dwarf_Die *die,
		     int (*fn)(void *data, uint64_t low, uint64_t high), void *data);

/* Read the unit's functions. -ETIME leaves it as it was. */
int unit_read_functions(struct unit *u, struct unit_walk *w, bool is_deep);
/* As debug_info_at(), within this unit. */
int unit_at(struct unit *u, struct unit_walk *w, uint64_t vaddr, struct debug_place *ret);
