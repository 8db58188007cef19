/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/scopes.h"

#include "base/bisect.h"
#include "base/cleanup.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Inlining and blocks nest by the dozen; this bounds recursion over a stranger's file. */
#define DIE_DEPTH_MAX 512

void scopes_release(struct scopes *s)
{
	vec_release(&s->scopes);
	vec_release(&s->ranges);
}

struct collect {
	struct scopes *to;
	uint32_t scope;
};

static int add_range(void *data, uint64_t low, uint64_t high)
{
	struct collect *c = data;
	struct scope_range r = { .low = low, .high = high, .scope = c->scope };
	return vec_push(&c->to->ranges, r);
}

/* The scope of an inlined function below @parent. */
static int add_scope(struct scopes *s, struct walk *w, Dwarf_Die *die, uint32_t parent,
		     uint32_t *ret)
{
	struct scope scope = {
		.die = die->addr,
		.parent = parent,
		.depth = parent ? s->scopes.data[parent - 1].depth + 1 : 1,
	};
	if (vec_push(&s->scopes, scope) < 0)
		return -ENOMEM;
	struct collect c = { .to = s, .scope = (uint32_t)s->scopes.len - 1 };
	*ret = (uint32_t)s->scopes.len;
	size_t before = s->ranges.len;
	int rc = walk_ranges(w, die, add_range, &c);
	bool is_placed = s->ranges.len > before;
	s->scopes.data[c.scope].is_placed = is_placed;
	s->has_unplaced |= !is_placed;
	return rc;
}

/* Damage ends the walk of the level where it is: what was found before counts. */
static int collect_scopes(struct scopes *s, struct walk *w, Dwarf_Die *from, uint32_t parent,
			  unsigned depth)
{
	Dwarf_Die die;
	if (depth > DIE_DEPTH_MAX || dwarf_child(from, &die) != 0)
		return 0;
	do {
		uint32_t inner = parent;
		int rc = walk_step(w);
		if (rc < 0)
			return rc;
		switch (dwarf_tag(&die)) {
		case DW_TAG_inlined_subroutine:
			rc = add_scope(s, w, &die, parent, &inner);
			if (rc < 0)
				return rc;
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			break;
		default:
			continue;
		}
		rc = collect_scopes(s, w, &die, inner, depth + 1);
		if (rc < 0)
			return rc;
	} while (walk_sibling(&die) == 0);
	return 0;
}

static int compare_ranges(const void *va, const void *vb, void *data)
{
	const struct scope_range *a = va, *b = vb;
	const struct scope *scopes = data;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	if (scopes[a->scope].depth != scopes[b->scope].depth)
		return scopes[a->scope].depth < scopes[b->scope].depth ? -1 : 1;
	/* One place cannot be in two functions of one depth; the first in the file counts. */
	return a->scope > b->scope ? -1 : a->scope < b->scope;
}

/* Cut ranges that nest into disjoint ones: the stack holds what has started and not been seen to end, and
 * the deepest, on top, owns the addresses. */
static int flatten(struct scopes *s)
{
	struct scopes out = { 0 };
	size_t depth = 0;
	uint64_t at = 0;

	if (!s->ranges.len)
		return 0;
	qsort_r(s->ranges.data, s->ranges.len, sizeof(*s->ranges.data), compare_ranges,
		s->scopes.data);
	CLEANUP_FREE uint32_t *stack = malloc(s->ranges.len * sizeof(*stack));
	if (!stack)
		return -ENOMEM;
	for (size_t i = 0; i <= s->ranges.len; i++) {
		uint64_t next = i < s->ranges.len ? s->ranges.data[i].low : UINT64_MAX;
		while (depth && at < next) {
			const struct scope_range *top = &s->ranges.data[stack[depth - 1]];
			if (top->high <= at) {
				depth--;
				continue;
			}
			struct scope_range r = { .low = at,
						 .high = top->high < next ? top->high : next,
						 .scope = top->scope };
			if (vec_push(&out.ranges, r) < 0) {
				vec_release(&out.ranges);
				return -ENOMEM;
			}
			at = r.high;
		}
		at = next;
		if (i < s->ranges.len)
			stack[depth++] = (uint32_t)i;
	}
	vec_release(&s->ranges);
	s->ranges.data = out.ranges.data;
	s->ranges.len = out.ranges.len;
	s->ranges.cap = out.ranges.cap;
	return 0;
}

int scopes_read(struct scopes *s, struct walk *w, Dwarf_Die *function)
{
	int rc = collect_scopes(s, w, function, 0, 0);
	if (rc == 0)
		rc = flatten(s);
	if (rc < 0)
		scopes_release(s);
	return rc;
}

uint32_t scopes_at(const struct scopes *s, uint64_t vaddr)
{
	size_t at = bisect(s->ranges.len, i, s->ranges.data[i].high <= vaddr);

	if (at == s->ranges.len || s->ranges.data[at].low > vaddr)
		return 0;
	return s->ranges.data[at].scope + 1;
}

/* Where the function of @die is declared, if that is before @line of @file: 0 if not. */
static int declared_before(Dwarf_Die *die, const char *file, int line)
{
	int decl;
	const char *in = dwarf_decl_file(die);
	if (!in || strcmp(in, file) != 0 || dwarf_decl_line(die, &decl) != 0 || decl > line)
		return 0;
	return decl;
}

/* Is @from below @scope, with nothing on the way that the file has a place for? */
static bool is_reached(const struct scopes *s, uint32_t from, uint32_t scope)
{
	while (from != scope) {
		if (!from || s->scopes.data[from - 1].is_placed)
			return false;
		from = s->scopes.data[from - 1].parent;
	}
	return true;
}

uint32_t scopes_deduce(const struct scopes *s, Dwarf_Die *function, uint32_t scope,
		       const char *file, int line, bool *ret_is_one)
{
	/* Not a copy with another address: libdw keeps the abbreviation of the old one in it. */
	Dwarf_Die own = { .addr = scope ? s->scopes.data[scope - 1].die : function->addr,
			  .cu = function->cu };
	uint32_t found = scope;

	int best = declared_before(&own, file, line);
	*ret_is_one = true;
	for (uint32_t i = 1; i <= s->scopes.len; i++) {
		Dwarf_Die die = { .addr = s->scopes.data[i - 1].die, .cu = function->cu };
		if (s->scopes.data[i - 1].is_placed || !is_reached(s, i, scope))
			continue;
		int decl = declared_before(&die, file, line);
		if (decl && decl == best && found != scope)
			*ret_is_one = false;
		if (decl <= best)
			continue;
		best = decl;
		found = i;
		*ret_is_one = true;
	}
	return found;
}
