/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/xe_code.h"

#include "base/bisect.h"
#include "base/hash.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

struct entry {
	struct accel_code code;
	uint64_t until_ns;   /* UINT64_MAX: it is still there */
	uint64_t begin, end; /* as records have addresses */
	uint64_t max_end;    /* of this and all before it */
};

struct xe_code {
	bool is_whole, is_sorted;
	VEC(struct entry) entries; /* by begin, once sorted */
	struct hash processes;     /* that have told of code */
	bool is_partial;           /* one of them not of all of its */
};

#define HEAP_BYTES (1ull << 32)
/* Whoever tells of kernels without end, at places where nothing is yet, costs so much: adding looks at all of them.
 * Large programs have some ten thousand. */
#define ENTRIES_MAX   (1u << 17)
#define PROCESSES_MAX 65536

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
	hash_release(&c->processes);
	free(c);
}

/* A linear pass: modules come and go by the dozen, samples by the million. */
static void end_between(struct xe_code *c, const struct accel_code *code, uint64_t begin,
			uint64_t end)
{
	vec_for_each(&c->entries, e) {
		if (e->code.process != code->process || e->until_ns != UINT64_MAX ||
		    e->begin >= end || begin >= e->end)
			continue;
		e->until_ns = code->time_ns;
		/* A kernel in the place of what was not known to be it: it was that all along. */
		if (!e->code.kernel && code->kernel && e->begin == begin)
			e->code.time_ns = UINT64_MAX;
	}
}

void xe_code_forget(struct xe_code *c, uint64_t before_ns)
{
	size_t kept = 0;

	vec_for_each(&c->entries, e) {
		if (e->until_ns >= before_ns)
			c->entries.data[kept++] = *e;
	}
	c->is_sorted &= kept == c->entries.len;
	c->entries.len = kept;
}

static uint64_t as_recorded(const struct xe_code *c, uint64_t address)
{
	return c->is_whole ? address : address % HEAP_BYTES;
}

int xe_code_add(struct xe_code *c, const struct accel_code *code)
{
	struct entry e = { .code = *code,
			   .until_ns = UINT64_MAX,
			   .begin = as_recorded(c, code->address) };
	uint64_t limit = c->is_whole ? UINT64_MAX : HEAP_BYTES;

	if (!code->size || code->size > limit - e.begin || c->entries.len >= ENTRIES_MAX)
		return -EINVAL;
	e.end = e.begin + code->size;
	c->is_partial |= !code->has_all;
	if (c->processes.len < PROCESSES_MAX && hash_set(&c->processes, code->process, 0) < 0)
		return -ENOMEM;
	end_between(c, code, e.begin, e.end);
	c->is_sorted = false;
	return vec_push(&c->entries, e);
}

size_t xe_code_complete(const struct xe_code *c)
{
	return c->is_partial ? 0 : c->processes.len;
}

void xe_code_remove(struct xe_code *c, const struct accel_code *code)
{
	uint64_t begin = as_recorded(c, code->address);

	if (!code->size)
		end_between(c, code, 0, UINT64_MAX);
	else
		end_between(c, code, begin,
			    code->size > UINT64_MAX - begin ? UINT64_MAX : begin + code->size);
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

/* How many entries begin at @address or before. */
static size_t entries_up_to(const struct xe_code *c, uint64_t address)
{
	return bisect(c->entries.len, i, c->entries.data[i].begin <= address);
}

enum xe_place xe_code_find(struct xe_code *c, const struct xe_query *query, struct accel_code *ret,
			   uint64_t *ret_offset)
{
	const struct entry *found = NULL;
	enum xe_place place = XE_PLACE_NONE;

	if (!c->is_sorted)
		sort(c);
	for (size_t i = entries_up_to(c, query->address);
	     i-- > 0 && c->entries.data[i].max_end > query->address;) {
		const struct entry *e = &c->entries.data[i];
		if (e->end <= query->address || e->code.time_ns > query->end_ns ||
		    e->until_ns < query->begin_ns)
			continue;
		if (found && found->code.process != e->code.process)
			return XE_PLACE_SEVERAL;
		place = !found ? XE_PLACE_ONE
			/* told twice */
			: found->code.kernel == e->code.kernel && found->begin == e->begin
				? place
				: XE_PLACE_REPLACED;
		found = e;
	}
	if (place == XE_PLACE_ONE) {
		*ret = found->code;
		*ret_offset = query->address - found->begin;
	}
	return place;
}
