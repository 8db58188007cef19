/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/jit.h"

#include "base/hash.h"
#include "base/strtab.h"
#include "proc/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t start, end;
	uint32_t name;
	uint32_t order; /* in the file: the later wins */
};

/* Disjoint and sorted: the addresses [start, end) are @entry's. */
struct range {
	uint64_t start, end;
	uint32_t entry;
};

struct jit_symbols {
	struct strtab names;
	VEC(struct entry) entries;
	VEC(struct range) ranges;
	size_t skipped;
	struct symbol_line line; /* given out last */
};

void jit_symbols_free(struct jit_symbols *j)
{
	if (!j)
		return;
	strtab_release(&j->names);
	vec_release(&j->entries);
	vec_release(&j->ranges);
	free(j);
}

size_t jit_symbols_count(const struct jit_symbols *j)
{
	return j->entries.len;
}

size_t jit_symbols_skipped(const struct jit_symbols *j)
{
	return j->skipped;
}

static int add_entry(struct jit_symbols *j, uint64_t start, uint64_t size, struct span name)
{
	struct entry e = { .start = start, .order = (uint32_t)j->entries.len };

	if (j->entries.len >= JIT_SYMBOLS_MAX || !size || !name.size ||
	    name.size > SYMBOL_NAME_BYTES_MAX || __builtin_add_overflow(start, size, &e.end)) {
		j->skipped++;
		return 0;
	}
	if (strtab_intern(&j->names, name.data, name.size, &e.name, NULL) < 0)
		return -ENOMEM;
	return vec_push(&j->entries, e);
}

static int compare_starts(const void *va, const void *vb)
{
	const struct entry *a = va, *b = vb;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

/* A heap of entries that have started, the latest in the file on top. */
static void heap_push(const struct jit_symbols *j, uint32_t *heap, size_t at, uint32_t entry)
{
	heap[at] = entry;
	while (at) {
		size_t up = (at - 1) / 2;
		if (j->entries.data[heap[up]].order > j->entries.data[heap[at]].order)
			break;
		uint32_t tmp = heap[up];
		heap[up] = heap[at];
		heap[at] = tmp;
		at = up;
	}
}

static void heap_pop(const struct jit_symbols *j, uint32_t *heap, size_t len)
{
	size_t at = 0;

	heap[0] = heap[len - 1];
	for (;;) {
		size_t best = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < len - 1; child++) {
			if (j->entries.data[heap[child]].order > j->entries.data[heap[best]].order)
				best = child;
		}
		if (best == at)
			return;
		uint32_t tmp = heap[best];
		heap[best] = heap[at];
		heap[at] = tmp;
		at = best;
	}
}

/* Cut the entries into ranges in one sweep over their starts. */
static int make_ranges(struct jit_symbols *j)
{
	size_t count = j->entries.len, len = 0;
	uint64_t at = 0;

	if (!count)
		return 0;
	qsort(j->entries.data, count, sizeof(*j->entries.data), compare_starts);
	CLEANUP_FREE uint32_t *heap = malloc(count * sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	for (size_t i = 0; i <= count; i++) {
		uint64_t next = i < count ? j->entries.data[i].start : UINT64_MAX;
		while (len && at < next) {
			const struct entry *e = &j->entries.data[heap[0]];
			if (e->end <= at) {
				heap_pop(j, heap, len--);
				continue;
			}
			struct range r = { .start = at,
					   .end = e->end < next ? e->end : next,
					   .entry = heap[0] };
			if (vec_push(&j->ranges, r) < 0)
				return -ENOMEM;
			at = r.end;
		}
		at = next;
		if (i < count)
			heap_push(j, heap, len++, (uint32_t)i);
	}
	return 0;
}

int jit_symbols_new_map(struct jit_symbols **ret, struct span text, struct err *err)
{
	CLEANUP(jit_symbols_free) struct jit_symbols *j = calloc(1, sizeof(*j));
	struct lines lines = lines_of(text, "perf map");
	struct perf_map_entry e;

	if (!j)
		return err_set(err, -ENOMEM, "perf map");
	while (perf_map_next(&lines, &e, &j->skipped) > 0) {
		if (add_entry(j, e.start, e.size, e.name) < 0)
			return err_set(err, -ENOMEM, "perf map");
	}
	if (make_ranges(j) < 0)
		return err_set(err, -ENOMEM, "perf map");
	*ret = TAKE(j);
	return 0;
}

/* The magic "JiTD", as a number in the writer's byte order. */
#define JITDUMP_MAGIC         0x4a695444u
#define JITDUMP_MAGIC_SWAPPED 0x4454694au

enum jitdump_record {
	JITDUMP_LOAD = 0,
	JITDUMP_MOVE = 1,
};

/* JIT_CODE_LOAD: pid, tid, vma, address, size, index, name, code. */
static int read_load(struct jit_symbols *j, struct cursor *c, struct hash *by_index)
{
	uint64_t vma, address, size, index;
	struct span name;

	if (cursor_skip(c, 8, NULL) < 0 || cursor_u64(c, &vma, NULL) < 0 ||
	    cursor_u64(c, &address, NULL) < 0 || cursor_u64(c, &size, NULL) < 0 ||
	    cursor_u64(c, &index, NULL) < 0 || cursor_cstr(c, &name, NULL) < 0) {
		j->skipped++;
		return 0;
	}
	size_t before = j->entries.len;
	if (add_entry(j, address, size, name) < 0)
		return -ENOMEM;
	return j->entries.len > before ? hash_set(by_index, index, before) : 0;
}

/* JIT_CODE_MOVE: pid, tid, vma, old address, new address, size, index. */
static int read_move(struct jit_symbols *j, struct cursor *c, const struct hash *by_index)
{
	uint64_t vma, from, to, size, index;

	if (cursor_skip(c, 8, NULL) < 0 || cursor_u64(c, &vma, NULL) < 0 ||
	    cursor_u64(c, &from, NULL) < 0 || cursor_u64(c, &to, NULL) < 0 ||
	    cursor_u64(c, &size, NULL) < 0 || cursor_u64(c, &index, NULL) < 0) {
		j->skipped++;
		return 0;
	}
	const uint64_t *moved = hash_get(by_index, index);
	if (!moved) {
		j->skipped++;
		return 0;
	}
	return add_entry(j, to, size, strtab_get(&j->names, j->entries.data[*moved].name));
}

static int read_records(struct jit_symbols *j, struct cursor *c, struct hash *by_index)
{
	while (cursor_left(c) >= 16) {
		uint32_t id, size;
		struct span body;
		/* id, total size with this header, time */
		if (cursor_u32(c, &id, NULL) < 0 || cursor_u32(c, &size, NULL) < 0 ||
		    cursor_skip(c, 8, NULL) < 0 || size < 16 ||
		    cursor_bytes(c, size - 16, &body, NULL) < 0) {
			j->skipped++;
			return 0;
		}
		struct cursor record = cursor_of(body, NULL);
		int rc = 0;
		if (id == JITDUMP_LOAD)
			rc = read_load(j, &record, by_index);
		else if (id == JITDUMP_MOVE)
			rc = read_move(j, &record, by_index);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int jit_symbols_new_dump(struct jit_symbols **ret, struct span bytes, struct err *err)
{
	struct cursor c = cursor_of(bytes, "jitdump");
	uint32_t magic, version, header_size;
	struct hash by_index = { 0 };

	int rc = cursor_u32(&c, &magic, err);
	if (rc < 0)
		return rc;
	if (magic == JITDUMP_MAGIC_SWAPPED)
		return err_set(err, -ENOTSUP, "jitdump of a big-endian machine");
	if (magic != JITDUMP_MAGIC)
		return cursor_fail(&c, err, "not a jitdump");
	if ((rc = cursor_u32(&c, &version, err)) < 0 ||
	    (rc = cursor_u32(&c, &header_size, err)) < 0)
		return rc;
	/* magic, version, size, machine, padding, pid, time, flags */
	if (header_size < 40 || (rc = cursor_seek(&c, header_size, err)) < 0)
		return cursor_fail(&c, err, "bad header size");

	CLEANUP(jit_symbols_free) struct jit_symbols *j = calloc(1, sizeof(*j));
	rc = j ? read_records(j, &c, &by_index) : -ENOMEM;
	hash_release(&by_index);
	if (rc < 0 || make_ranges(j) < 0)
		return err_set(err, -ENOMEM, "jitdump");
	*ret = TAKE(j);
	return 0;
}

int jit_symbols_at(struct jit_symbols *j, uint64_t address, struct symbol *ret)
{
	size_t low = 0, high = j->ranges.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (j->ranges.data[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == j->ranges.len || j->ranges.data[low].start > address)
		return -ENOENT;
	const struct entry *e = &j->entries.data[j->ranges.data[low].entry];
	j->line = (struct symbol_line){ .name = strtab_text(&j->names, e->name) };
	*ret = (struct symbol){
		.start = e->start, .size = e->end - e->start, .lines = &j->line, .count = 1
	};
	return 0;
}

static int jit_symbols_resolve(void *self, const struct symbolize_query *q, struct symbol *ret)
{
	return q->kind == SYMBOLIZE_ANON && jit_symbols_at(self, q->offset, ret) == 0;
}

static void jit_symbols_drop(void *self)
{
	jit_symbols_free(self);
}

const struct resolver_ops jit_symbols_ops = {
	.name = "jit",
	.resolve = jit_symbols_resolve,
	.free = jit_symbols_drop,
};
