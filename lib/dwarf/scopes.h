/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inlined functions inside one function, by address. Made by one walk over the function's DIEs, which
 * in large functions are thousands (each call is one): a walk per address would be most of the time.
 * Internal.
 */
#pragma once

#include "base/vec.h"
#include "dwarf/walk.h"

/* An inlined function. */
struct scope {
	void *die;       /* DW_TAG_inlined_subroutine, in .debug_info as it lies in memory */
	uint32_t parent; /* what it was inlined into: scope + 1; 0: the function itself */
	uint32_t depth;  /* 1: called from the function itself */
	bool is_placed;  /* the file says where it lies */
};

/* Disjoint and sorted: [low, high) belongs to @scope and to none inside it. */
struct scope_range {
	uint64_t low, high;
	uint32_t scope;
};

struct scopes {
	VEC(struct scope) scopes;
	VEC(struct scope_range) ranges;
	bool has_unplaced;
};

/* @s is empty before; -ETIME and -ENOMEM leave it so. */
int scopes_read(struct scopes *s, struct walk *w, Dwarf_Die *function);
void scopes_release(struct scopes *s);

/* The innermost scope at @vaddr, + 1; 0: the function itself. */
uint32_t scopes_at(const struct scopes *s, uint64_t vaddr);

/*
 * The unplaced scope below @scope (+ 1; 0: the function, @function) that the line @line of @file is most
 * likely in: the one declared last before it. Returns it + 1, or @scope. @ret_is_one: nothing else of the
 * same function is there.
 */
uint32_t scopes_deduce(const struct scopes *s, Dwarf_Die *function, uint32_t scope,
		       const char *file, int line, bool *ret_is_one);
