/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the unwinder that says which of a process's mapped files get tables. */
#include "collect/unwind_internal.h"

#include "collect/object.h"

#include <errno.h>
#include <string.h>

void layout_release(struct layout *layout)
{
	vec_release(&layout->mappings);
	vec_release(&layout->objects);
	free(layout->regions);
	layout->regions = NULL;
}

static uint32_t why_no_table(const struct object *object)
{
	if (!object)
		return UNWIND_NO_TABLE_JIT;
	return object->flags & OBJECT_HOLDS_DEVICE_CODE ? UNWIND_NO_TABLE_DEVICE : UNWIND_NO_TABLE;
}

int layout_push(struct layout *layout, struct unwind_mapping mapping, const struct object *object)
{
	mapping.table = 0;
	mapping.pages = object ? UNWIND_NO_TABLE_YET : why_no_table(object);
	if (vec_push(&layout->mappings, mapping) < 0)
		return -ENOMEM;
	return vec_push(&layout->objects, object);
}

/* Has the mapping an object whose table is still to be made? */
static bool is_awaited(const struct layout *layout, size_t i)
{
	const struct unwind_mapping *m = &layout->mappings.data[i];

	return layout->objects.data[i] && !m->table && m->pages == UNWIND_NO_TABLE_YET;
}

int layout_fill(struct unwinder *u, struct layout *layout, uint64_t size_max, uint64_t now_ns)
{
	bool is_lazy = layout_is_lazy(layout);

	for (size_t i = 0; i < layout->mappings.len; i++) {
		struct unwind_mapping *m = &layout->mappings.data[i];
		const struct object *object = layout->objects.data[i];
		uint64_t deferred = u->tables.deferred;
		if (!is_awaited(layout, i) || (is_lazy && !tables_wants(&u->tables, object)))
			continue;
		int rc = tables_get(&u->tables, object, size_max, now_ns, &m->table);
		if (rc < 0)
			return rc;
		if (m->table) {
			const struct unwind_table *rows = &table_at(&u->tables, m->table)->rows;
			m->base += rows->base;
			m->pages = rows->pages;
		} else if (u->tables.deferred == deferred) {
			m->pages = why_no_table(object);
		}
	}
	return 0;
}

static bool region_has(const struct regions *r, uint64_t address)
{
	uint64_t region = address >> REGION_SHIFT & (REGIONS - 1);

	return r->bits[region / 64] >> region % 64 & 1;
}

/* The regions of mappings whose table is still to be made; some may be by now. */
static int regions_get(struct layout *layout)
{
	struct regions *r = layout->regions;

	if (r)
		return 0;
	r = layout->regions = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	for (size_t i = 0; i < layout->mappings.len; i++) {
		const struct unwind_mapping *m = &layout->mappings.data[i];
		if (!is_awaited(layout, i))
			continue;
		uint64_t count = ((m->end - 1) >> REGION_SHIFT) - (m->start >> REGION_SHIFT) + 1;
		for (uint64_t k = 0; k < count && k < REGIONS; k++) {
			uint64_t region = ((m->start >> REGION_SHIFT) + k) & (REGIONS - 1);
			r->bits[region / 64] |= 1ull << region % 64;
		}
	}
	return 0;
}

int layout_want(struct unwinder *u, struct layout *layout, struct span bytes)
{
	const struct unwind_space space = { layout->mappings.data, layout->mappings.len, NULL, 0 };
	int found = 0;

	if (regions_get(layout) < 0)
		return -ENOMEM;
	for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size; at += sizeof(uint64_t)) {
		uint64_t word;
		memcpy(&word, bytes.data + at, sizeof(word));
		if (!region_has(layout->regions, word))
			continue;
		/* A return address may be behind the end of its mapping. */
		const struct unwind_mapping *m = unwind_space_find(&space, word);
		if (!m)
			m = unwind_space_find(&space, word - 1);
		size_t i = m ? (size_t)(m - layout->mappings.data) : 0;
		if (!m || !is_awaited(layout, i))
			continue;
		/* Another process may have wanted it before. */
		if (!tables_wants(&u->tables, layout->objects.data[i]) &&
		    tables_want(&u->tables, layout->objects.data[i]) < 0)
			return -ENOMEM;
		found = 1;
	}
	return found;
}
