/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/captured.h"

#include "base/arena.h"
#include "base/bisect.h"
#include "base/hash.h"
#include "base/strtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where a function lies, for offsets in it that nobody asked about when recording. */
struct range {
	uint32_t object;
	uint64_t start, end;
	const char *name;
};

struct place {
	uint32_t object;
	uint32_t next; /* place + 1 with the same hash; 0: none */
	uint64_t offset;
	struct symbol symbol; /* strings are in names, lines in the arena */
};

struct captured_symbols {
	VEC(struct place) places;
	struct hash by_place; /* hash of (object, offset) -> place + 1 */
	struct arena arena;
	struct strtab names;
	VEC(struct range) ranges;
	bool is_sorted;
	struct symbol_line nearby; /* given out last for an offset that was not added */
};

int captured_symbols_new(struct captured_symbols **ret)
{
	struct captured_symbols *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	*ret = c;
	return 0;
}

void captured_symbols_free(struct captured_symbols *c)
{
	if (!c)
		return;
	vec_release(&c->places);
	hash_release(&c->by_place);
	arena_release(&c->arena);
	strtab_release(&c->names);
	vec_release(&c->ranges);
	free(c);
}

static uint64_t place_hash(uint32_t object, uint64_t offset)
{
	return hash_hostile_pair(offset, object);
}

static struct place *find_place(const struct captured_symbols *c, uint32_t object, uint64_t offset)
{
	uint64_t *head = hash_get(&c->by_place, place_hash(object, offset));
	for (size_t i = head ? *head : 0; i; i = c->places.data[i - 1].next) {
		struct place *p = &c->places.data[i - 1];
		if (p->object == object && p->offset == offset)
			return p;
	}
	return NULL;
}

static int keep(struct captured_symbols *c, const char *text, const char **ret)
{
	uint32_t id;
	if (!text) {
		*ret = NULL;
		return 0;
	}
	int rc = strtab_add(&c->names, text, &id);
	if (rc < 0)
		return rc;
	*ret = strtab_text(&c->names, id);
	return 0;
}

static int copy_lines(struct captured_symbols *c, const struct symbol *from, struct symbol *to)
{
	struct symbol_line *lines = arena_alloc(&c->arena, from->count * sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < from->count; i++) {
		lines[i] = from->lines[i];
		if (keep(c, from->lines[i].name, &lines[i].name) < 0 ||
		    keep(c, from->lines[i].file, &lines[i].file) < 0)
			return -ENOMEM;
	}
	*to = *from;
	to->lines = lines;
	return 0;
}

static int add_place(struct captured_symbols *c, uint32_t object, uint64_t offset,
		     const struct symbol *symbol)
{
	uint64_t key = place_hash(object, offset);
	uint64_t *head = hash_get(&c->by_place, key);
	struct place p = {
		.object = object,
		.next = head ? (uint32_t)*head : 0,
		.offset = offset,
		.symbol = *symbol,
	};
	if (c->places.len >= UINT32_MAX - 1)
		return -ENOMEM;
	if (vec_push(&c->places, p) < 0)
		return -ENOMEM;
	return hash_set(&c->by_place, key, c->places.len);
}

int captured_symbols_add(struct captured_symbols *c, uint32_t object, uint64_t offset,
			 const struct symbol *symbol)
{
	struct symbol copy;

	if (!symbol->count)
		return 0;
	if (copy_lines(c, symbol, &copy) < 0)
		return -ENOMEM;
	struct place *known = find_place(c, object, offset);
	if (known)
		known->symbol = copy;
	else if (add_place(c, object, offset, &copy) < 0)
		return -ENOMEM;

	struct range r = { .object = object, .start = copy.start, .name = copy.lines[0].name };
	if (!copy.size || __builtin_add_overflow(copy.start, copy.size, &r.end))
		return 0;
	c->is_sorted = false;
	return vec_push(&c->ranges, r);
}

static int compare_ranges(const void *va, const void *vb)
{
	const struct range *a = va, *b = vb;
	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	/* Names are interned, but where is no order that repeats. */
	return strcmp(a->name, b->name);
}

/* One range per function is enough; each of its offsets brought one. */
static void sort_ranges(struct captured_symbols *c)
{
	size_t kept = 0;

	if (c->is_sorted)
		return;
	c->is_sorted = true;
	if (!c->ranges.len)
		return;
	qsort(c->ranges.data, c->ranges.len, sizeof(*c->ranges.data), compare_ranges);
	for (size_t i = 0; i < c->ranges.len; i++) {
		struct range *r = &c->ranges.data[i], *last = &c->ranges.data[kept ? kept - 1 : 0];
		if (kept && last->object == r->object && last->start == r->start)
			continue;
		c->ranges.data[kept++] = *r;
	}
	c->ranges.len = kept;
}

static const struct range *find_range(struct captured_symbols *c, uint32_t object, uint64_t offset)
{
	sort_ranges(c);
	size_t below =
		bisect(c->ranges.len, i,
		       c->ranges.data[i].object < object || (c->ranges.data[i].object == object &&
							     c->ranges.data[i].start <= offset));
	const struct range *r = below ? &c->ranges.data[below - 1] : NULL;
	return r && r->object == object && r->start <= offset && offset < r->end ? r : NULL;
}

int captured_symbols_at(struct captured_symbols *c, uint32_t object, uint64_t offset,
			struct symbol *ret)
{
	const struct place *known = find_place(c, object, offset);
	if (known) {
		*ret = known->symbol;
		return 0;
	}
	const struct range *r = find_range(c, object, offset);
	if (!r)
		return -ENOENT;
	c->nearby = (struct symbol_line){ .name = r->name };
	*ret = (struct symbol){
		.start = r->start, .size = r->end - r->start, .lines = &c->nearby, .count = 1
	};
	return 0;
}
