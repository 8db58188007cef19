/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/xe_code.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

struct entry {
	struct xe_range range;
	uint64_t begin, end; /* as records have addresses */
	uint64_t max_end;    /* of this and all before it */
};

struct xe_code {
	bool is_whole, is_sorted;
	VEC(struct entry) entries; /* by begin, once sorted */
};

#define HEAP_BYTES (1ull << 32)

int xe_code_new(struct xe_code **ret, bool is_whole)
{
	struct xe_code *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->is_whole = is_whole;
	*ret = c;
	return 0;
}

void xe_code_free(struct xe_code *c)
{
	if (!c)
		return;
	vec_release(&c->entries);
	free(c);
}

static bool overlaps(const struct entry *e, uint64_t begin, uint64_t end)
{
	return e->begin < end && begin < e->end;
}

/* A linear pass: modules come and go by the dozen, samples by the million. */
static void remove_between(struct xe_code *c, uint32_t process, uint64_t begin, uint64_t end)
{
	size_t kept = 0;
	vec_for_each(&c->entries, e) {
		if (e->range.process != process || !overlaps(e, begin, end))
			c->entries.data[kept++] = *e;
	}
	if (kept != c->entries.len)
		c->is_sorted = false;
	c->entries.len = kept;
}

static uint64_t as_recorded(const struct xe_code *c, uint64_t address)
{
	return c->is_whole ? address : address % HEAP_BYTES;
}

int xe_code_add(struct xe_code *c, const struct xe_range *range)
{
	struct entry e = { .range = *range, .begin = as_recorded(c, range->address) };
	uint64_t limit = c->is_whole ? UINT64_MAX : HEAP_BYTES;

	if (!range->size || range->size > limit - e.begin)
		return -EINVAL;
	e.end = e.begin + range->size;
	remove_between(c, range->process, e.begin, e.end);
	c->is_sorted = false;
	return vec_push(&c->entries, e);
}

void xe_code_remove(struct xe_code *c, uint32_t process, uint64_t address, uint64_t size)
{
	uint64_t begin = as_recorded(c, address);
	if (!size)
		remove_between(c, process, 0, UINT64_MAX);
	else
		remove_between(c, process, begin,
			       size > UINT64_MAX - begin ? UINT64_MAX : begin + size);
}

static int compare(const void *va, const void *vb)
{
	const struct entry *a = va, *b = vb;
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static void sort(struct xe_code *c)
{
	uint64_t max = 0;
	if (c->entries.len)
		qsort(c->entries.data, c->entries.len, sizeof(*c->entries.data), compare);
	vec_for_each(&c->entries, e) {
		max = e->end > max ? e->end : max;
		e->max_end = max;
	}
	c->is_sorted = true;
}

enum xe_place xe_code_find(struct xe_code *c, uint64_t address, struct xe_range *ret,
			   uint64_t *ret_offset)
{
	const struct entry *found = NULL;
	size_t low = 0, high = c->entries.len;

	if (!c->is_sorted)
		sort(c);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (c->entries.data[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* Those of one process do not overlap. */
	for (; low-- > 0 && c->entries.data[low].max_end > address;) {
		const struct entry *e = &c->entries.data[low];
		if (e->end <= address)
			continue;
		if (found)
			return XE_PLACE_SEVERAL;
		found = e;
	}
	if (!found)
		return XE_PLACE_NONE;
	*ret = found->range;
	*ret_offset = address - found->begin;
	return XE_PLACE_ONE;
}
