/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/jit.h"

#include "base/bisect.h"
#include "proc/symbols.h"
#include "symbolize/jit_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void jit_symbols_free(struct jit_symbols *j)
{
	if (!j)
		return;
	strtab_release(&j->names);
	vec_release(&j->lines);
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

int jit_add_entry(struct jit_symbols *j, uint64_t start, uint64_t size, struct span name)
{
	struct jit_entry e = { .start = start, .order = (uint32_t)j->entries.len };

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
	const struct jit_entry *a = va, *b = vb;
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
int jit_make_ranges(struct jit_symbols *j)
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
			const struct jit_entry *e = &j->entries.data[heap[0]];
			if (e->end <= at) {
				heap_pop(j, heap, len--);
				continue;
			}
			struct jit_range r = { .start = at,
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
		if (jit_add_entry(j, e.start, e.size, e.name) < 0)
			return err_set(err, -ENOMEM, "perf map");
	}
	if (jit_make_ranges(j) < 0)
		return err_set(err, -ENOMEM, "perf map");
	*ret = TAKE(j);
	return 0;
}

/* The last line at or before @offset. */
static void add_line(const struct jit_symbols *j, const struct jit_entry *e, uint64_t offset,
		     struct symbol_line *ret)
{
	size_t below = bisect(e->line_count, i, j->lines.data[e->first_line + i].offset <= offset);

	if (!below)
		return;
	const struct jit_line *line = &j->lines.data[e->first_line + below - 1];
	ret->line = line->line;
	ret->file = line->file ? strtab_text(&j->names, line->file) : NULL;
}

int jit_symbols_at(struct jit_symbols *j, uint64_t address, struct symbol *ret)
{
	size_t at = bisect(j->ranges.len, i, j->ranges.data[i].end <= address);

	if (at == j->ranges.len || j->ranges.data[at].start > address)
		return -ENOENT;
	const struct jit_entry *e = &j->entries.data[j->ranges.data[at].entry];
	j->line = (struct symbol_line){ .name = strtab_text(&j->names, e->name) };
	add_line(j, e, address - e->start, &j->line);
	*ret = (struct symbol){
		.start = e->start, .size = e->end - e->start, .lines = &j->line, .count = 1
	};
	return 0;
}
