/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "symbolize/jit_internal.h"

#include <errno.h>
#include <stdlib.h>

/* The magic "JiTD", as a number in the writer's byte order. */
#define JITDUMP_MAGIC         0x4a695444u
#define JITDUMP_MAGIC_SWAPPED 0x4454694au

enum jitdump_record {
	JITDUMP_LOAD = 0,
	JITDUMP_MOVE = 1,
	JITDUMP_DEBUG_INFO = 2,
};

/* While a dump is read. */
struct dump {
	struct jit_symbols *symbols;
	struct hash by_index; /* a function's number in the dump -> entry */
	/* Lines come before the function that they belong to. */
	uint64_t lines_address;
	size_t lines_first;
};

static int compare_lines(const void *va, const void *vb)
{
	const struct jit_line *a = va, *b = vb;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* JIT_CODE_DEBUG_INFO: address, count; then for each its address, line, discriminator, file, where "\xff"
 * stands for the file before. */
static int read_lines(struct dump *d, struct cursor *c)
{
	struct jit_symbols *j = d->symbols;
	uint64_t address, count;
	uint32_t file = 0;

	if (cursor_u64(c, &address, NULL) < 0 || cursor_u64(c, &count, NULL) < 0) {
		j->skipped++;
		return 0;
	}
	j->lines.len = d->lines_first; /* those of no function */
	for (uint64_t i = 0; i < count; i++) {
		struct jit_line line = { 0 };
		uint64_t at;
		struct span name;
		if (cursor_u64(c, &at, NULL) < 0 || cursor_u32(c, &line.line, NULL) < 0 ||
		    cursor_skip(c, 4, NULL) < 0 || cursor_cstr(c, &name, NULL) < 0)
			break;
		bool is_same = name.size == 1 && name.data[0] == 0xff;
		if (!is_same && name.size <= SYMBOL_NAME_BYTES_MAX &&
		    strtab_intern(&j->names, name.data, name.size, &file, NULL) < 0)
			return -ENOMEM;
		line.file = file;
		line.offset = at - address;
		if (at < address || j->lines.len >= JIT_SYMBOLS_MAX)
			continue;
		if (vec_push(&j->lines, line) < 0)
			return -ENOMEM;
	}
	d->lines_address = address;
	return 0;
}

/* The lines read last are of the function at @address, the entry added last, or of none. */
static void take_lines(struct dump *d, uint64_t address)
{
	struct jit_symbols *j = d->symbols;
	size_t count = j->lines.len - d->lines_first;

	if (address != d->lines_address) {
		j->lines.len = d->lines_first;
		return;
	}
	struct jit_entry *e = vec_last(&j->entries);
	e->first_line = (uint32_t)d->lines_first;
	e->line_count = (uint32_t)count;
	if (count)
		qsort(&j->lines.data[d->lines_first], count, sizeof(struct jit_line),
		      compare_lines);
	d->lines_first = j->lines.len;
}

/* JIT_CODE_LOAD: pid, tid, vma, address, size, index, name, code. */
static int read_load(struct dump *d, struct cursor *c)
{
	struct jit_symbols *j = d->symbols;
	uint64_t vma, address, size, index;
	struct span name;

	if (cursor_skip(c, 8, NULL) < 0 || cursor_u64(c, &vma, NULL) < 0 ||
	    cursor_u64(c, &address, NULL) < 0 || cursor_u64(c, &size, NULL) < 0 ||
	    cursor_u64(c, &index, NULL) < 0 || cursor_cstr(c, &name, NULL) < 0) {
		j->skipped++;
		return 0;
	}
	size_t before = j->entries.len;
	if (jit_add_entry(j, address, size, name) < 0)
		return -ENOMEM;
	if (j->entries.len == before)
		return 0;
	take_lines(d, address);
	return hash_set(&d->by_index, index, before);
}

/* JIT_CODE_MOVE: pid, tid, vma, old address, new address, size, index. */
static int read_move(struct dump *d, struct cursor *c)
{
	struct jit_symbols *j = d->symbols;
	uint64_t vma, from, to, size, index;

	if (cursor_skip(c, 8, NULL) < 0 || cursor_u64(c, &vma, NULL) < 0 ||
	    cursor_u64(c, &from, NULL) < 0 || cursor_u64(c, &to, NULL) < 0 ||
	    cursor_u64(c, &size, NULL) < 0 || cursor_u64(c, &index, NULL) < 0) {
		j->skipped++;
		return 0;
	}
	const uint64_t *moved = hash_get(&d->by_index, index);
	if (!moved) {
		j->skipped++;
		return 0;
	}
	struct jit_entry from_entry = j->entries.data[*moved];
	size_t before = j->entries.len;
	if (jit_add_entry(j, to, size, strtab_get(&j->names, from_entry.name)) < 0)
		return -ENOMEM;
	if (j->entries.len > before) {
		vec_last(&j->entries)->first_line = from_entry.first_line;
		vec_last(&j->entries)->line_count = from_entry.line_count;
	}
	return 0;
}

static int read_records(struct dump *d, struct cursor *c)
{
	while (cursor_left(c) >= 16) {
		uint32_t id, size;
		struct span body;
		/* id, total size with this header, time */
		if (cursor_u32(c, &id, NULL) < 0 || cursor_u32(c, &size, NULL) < 0 ||
		    cursor_skip(c, 8, NULL) < 0 || size < 16 ||
		    cursor_bytes(c, size - 16, &body, NULL) < 0) {
			d->symbols->skipped++;
			return 0;
		}
		struct cursor record = cursor_of(body, NULL);
		int rc = 0;
		if (id == JITDUMP_LOAD)
			rc = read_load(d, &record);
		else if (id == JITDUMP_MOVE)
			rc = read_move(d, &record);
		else if (id == JITDUMP_DEBUG_INFO)
			rc = read_lines(d, &record);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int jit_symbols_new_dump(struct jit_symbols **ret, struct span bytes, struct err *err)
{
	struct cursor c = cursor_of(bytes, "jitdump");
	uint32_t magic, version, header_size;

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
	struct dump dump = { .symbols = j };
	rc = j ? read_records(&dump, &c) : -ENOMEM;
	hash_release(&dump.by_index);
	if (rc < 0 || jit_make_ranges(j) < 0)
		return err_set(err, -ENOMEM, "jitdump");
	*ret = TAKE(j);
	return 0;
}
