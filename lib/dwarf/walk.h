/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for a walk over DIEs while one address is looked up: a deadline, and distrust. Internal. */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

struct walk {
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
	unsigned steps;
	bool is_zero_code; /* the file has code at address 0; else that marks discarded functions */
	bool deduces_inlined; /* debug_info_deduce_inlined() */
};

/* To be called for each DIE. -ETIME when the deadline has passed; looks at the clock now and then. */
int walk_step(struct walk *w);
/*
 * The DIE behind @die at the same level: 0, 1 at the end, negative on damage. DW_AT_sibling is the
 * file's word; one that points backwards would make a walk endless.
 */
int walk_sibling(Dwarf_Die *die);
/* Call @fn for each range of addresses of @die that can be live code; what it returns below 0 ends it. */
int walk_ranges(const struct walk *w, Dwarf_Die *die,
		int (*fn)(void *data, uint64_t low, uint64_t high), void *data);
