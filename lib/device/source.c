/* SPDX-License-Identifier: Apache-2.0 */
#include "device/source.h"

#include "base/hash.h"
#include "base/vec.h"
#include "device/object.h"
#include "device/source_table.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

/* Of libiberty, which comes without a header for it. @result gets 16 bytes. */
void *md5_buffer(const char *data, size_t size, void *result);

/* Columns of a file's entry: DWARF 5 has five. */
#define FORMATS_MAX 16
/* clang's extension, llvm.org "LLVM Language Reference Manual", -gembed-source. */
#define DW_LNCT_LLVM_source_ 0x2001

struct table {
	struct device_object *o;
	struct source_table *out;
	struct span strings, line_strings;
	uint16_t version;
	bool is_64;
	VEC(struct span) folders;
};

struct format {
	uint64_t content, form;
};

struct entry {
	struct span name, text;
	uint64_t folder, size;
	bool has_md5;
	uint8_t md5[16];
};

void source_table_release(struct source_table *s)
{
	if (!s)
		return;
	vec_release(&s->list);
	hash_release(&s->by_file);
	strtab_release(&s->files);
	free(s);
}

/* ---- one entry ---- */

static struct span string_at(struct span strings, uint64_t at)
{
	if (at >= strings.size)
		return span_of("", 0);
	const uint8_t *p = strings.data + at;
	return span_of(p, strnlen((const char *)p, strings.size - at));
}

static int read_offset(const struct table *t, struct cursor *c, uint64_t *ret)
{
	uint32_t small;
	if (t->is_64)
		return cursor_u64(c, ret, NULL);
	int rc = cursor_u32(c, &small, NULL);
	*ret = small;
	return rc;
}

/* A value: a number, or bytes. The forms that DWARF 5, 6.2.4.1, allows. */
static int read_form(const struct table *t, struct cursor *c, uint64_t form, uint64_t *number,
		     struct span *bytes)
{
	uint8_t u8 = 0;
	uint16_t u16 = 0;
	uint32_t u32 = 0;
	int rc;

	*number = 0;
	*bytes = span_of("", 0);
	switch (form) {
	case DW_FORM_string:
		return cursor_cstr(c, bytes, NULL);
	case DW_FORM_strp:
	case DW_FORM_line_strp:
		rc = read_offset(t, c, number);
		*bytes = string_at(form == DW_FORM_strp ? t->strings : t->line_strings, *number);
		return rc;
	case DW_FORM_udata:
		return cursor_uleb(c, number, NULL);
	case DW_FORM_data1:
		rc = cursor_u8(c, &u8, NULL);
		*number = u8;
		return rc;
	case DW_FORM_data2:
		rc = cursor_u16(c, &u16, NULL);
		*number = u16;
		return rc;
	case DW_FORM_data4:
		rc = cursor_u32(c, &u32, NULL);
		*number = u32;
		return rc;
	case DW_FORM_data8:
		return cursor_u64(c, number, NULL);
	case DW_FORM_data16:
		return cursor_bytes(c, 16, bytes, NULL);
	case DW_FORM_block:
		rc = cursor_uleb(c, number, NULL);
		return rc ? rc : cursor_bytes(c, *number, bytes, NULL);
	default:
		return -EBADMSG;
	}
}

static int read_entry(const struct table *t, struct cursor *c, const struct format *formats,
		      size_t count, struct entry *e)
{
	*e = (struct entry){ .size = 0 };
	for (size_t i = 0; i < count; i++) {
		uint64_t number;
		struct span bytes;
		int rc = read_form(t, c, formats[i].form, &number, &bytes);
		if (rc)
			return rc;
		if (formats[i].content == DW_LNCT_path) {
			e->name = bytes;
		} else if (formats[i].content == DW_LNCT_directory_index) {
			e->folder = number;
		} else if (formats[i].content == DW_LNCT_size) {
			e->size = number;
		} else if (formats[i].content == DW_LNCT_MD5 && bytes.size == 16) {
			e->has_md5 = true;
			memcpy(e->md5, bytes.data, 16);
		} else if (formats[i].content == DW_LNCT_LLVM_source_) {
			e->text = bytes;
		}
	}
	return 0;
}

/* As libdw joins them: below the folder, which may be below that of the compiler. */
static int keep(const struct table *t, const struct entry *e)
{
	struct span folder = span_of("", 0), first = folder;
	char path[4096];
	uint32_t id;

	if (!e->has_md5 && !e->size && !e->text.size)
		return 0;
	if (e->folder < t->folders.len)
		folder = t->folders.data[e->folder];
	if (t->folders.len && t->version >= 5 && e->folder && folder.size && folder.data[0] != '/')
		first = t->folders.data[0];
	if (e->name.size && e->name.data[0] == '/')
		folder = first = span_of("", 0);
	int size = snprintf(path, sizeof(path), "%.*s%s%.*s%s%.*s", (int)first.size,
			    (const char *)first.data, first.size ? "/" : "", (int)folder.size,
			    (const char *)folder.data, folder.size ? "/" : "", (int)e->name.size,
			    (const char *)e->name.data);
	if (size <= 0 || (size_t)size >= sizeof(path))
		return 0;
	if (strtab_intern(&t->out->files, path, (size_t)size, &id, NULL) < 0)
		return -ENOMEM;
	if (hash_get(&t->out->by_file, id))
		return 0;
	struct device_source s = { .has_md5 = e->has_md5, .size = e->size, .text = e->text };
	memcpy(s.md5, e->md5, sizeof(s.md5));
	if (vec_push(&t->out->list, s) < 0 ||
	    hash_set(&t->out->by_file, id, t->out->list.len - 1) < 0)
		return -ENOMEM;
	return 0;
}

/* ---- the tables of a unit ---- */

static int read_formats(struct cursor *c, struct format *ret, size_t *ret_count)
{
	uint8_t count;
	int rc = cursor_u8(c, &count, NULL);
	if (rc || count > FORMATS_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < count; i++) {
		if (cursor_uleb(c, &ret[i].content, NULL) < 0 ||
		    cursor_uleb(c, &ret[i].form, NULL) < 0)
			return -EBADMSG;
	}
	*ret_count = count;
	return 0;
}

/* Version 5: folders, or files. Each entry takes a byte at least, as it has a column. */
static int read_table(struct table *t, struct cursor *c, bool is_files)
{
	struct format formats[FORMATS_MAX];
	struct entry e;
	size_t columns;
	uint64_t count;

	int rc = read_formats(c, formats, &columns);
	rc = rc ? rc : cursor_uleb(c, &count, NULL);
	if (rc || (count && !columns))
		return -EBADMSG;
	for (uint64_t i = 0; i < count; i++) {
		rc = read_entry(t, c, formats, columns, &e);
		if (!rc)
			rc = is_files ? keep(t, &e) : vec_push(&t->folders, e.name);
		if (rc)
			return rc;
	}
	return 0;
}

/* Versions 2 to 4: names until an empty one; folders count from 1, as 0 is the compiler's, not named here. */
static int read_old_tables(struct table *t, struct cursor *c)
{
	struct span s;
	int rc = vec_push(&t->folders, span_of("", 0));

	while (!rc && (rc = cursor_cstr(c, &s, NULL)) == 0 && s.size)
		rc = vec_push(&t->folders, s);
	while (!rc && (rc = cursor_cstr(c, &s, NULL)) == 0 && s.size) {
		struct entry e = { .name = s };
		uint64_t modified;
		rc = cursor_uleb(c, &e.folder, NULL);
		rc = rc ? rc : cursor_uleb(c, &modified, NULL);
		rc = rc ? rc : cursor_uleb(c, &e.size, NULL);
		rc = rc ? rc : keep(t, &e);
	}
	return rc;
}

static int read_unit(struct table *t, struct span unit)
{
	struct cursor c = cursor_of(unit, NULL);
	uint64_t header;
	uint8_t opcodes;

	t->folders.len = 0;
	if (cursor_u16(&c, &t->version, NULL) < 0 || t->version < 2 || t->version > 5 ||
	    (t->version == 5 && cursor_skip(&c, 2, NULL) < 0) || read_offset(t, &c, &header) < 0 ||
	    /* lengths, default_is_stmt, line_base, line_range */
	    cursor_skip(&c, t->version >= 4 ? 5 : 4, NULL) < 0 ||
	    cursor_u8(&c, &opcodes, NULL) < 0 || !opcodes ||
	    cursor_skip(&c, opcodes - 1u, NULL) < 0)
		return -EBADMSG;
	if (t->version < 5)
		return read_old_tables(t, &c);
	int rc = read_table(t, &c, false);
	return rc ? rc : read_table(t, &c, true);
}

static void find_section(struct device_object *o, const char *name, struct span *ret)
{
	struct elf_section s;
	*ret = span_of("", 0);
	if (elf_section_find(o->elf, name, &s) == 0)
		elf_section_data(o->elf, &s, ret, NULL);
}

static int read_units(struct table *t)
{
	struct span lines, unit;
	find_section(t->o, ".debug_line", &lines);
	find_section(t->o, ".debug_str", &t->strings);
	find_section(t->o, ".debug_line_str", &t->line_strings);
	struct cursor c = cursor_of(lines, NULL);
	uint32_t small;

	while (cursor_u32(&c, &small, NULL) == 0) {
		uint64_t size = small;
		t->is_64 = small == UINT32_MAX;
		if ((t->is_64 && cursor_u64(&c, &size, NULL) < 0) ||
		    cursor_bytes(&c, size, &unit, NULL) < 0)
			return 0;
		if (read_unit(t, unit) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

int device_source(struct device_object *o, const char *file, struct device_source *ret)
{
	uint32_t id;

	if (!o->sources) {
		struct table t = { .o = o, .out = calloc(1, sizeof(*o->sources)) };
		o->sources = t.out;
		if (!t.out)
			return -ENOMEM;
		int rc = read_units(&t);
		vec_release(&t.folders);
		if (rc < 0)
			return rc;
	}
	if (strtab_add(&o->sources->files, file, &id) < 0)
		return -ENOMEM;
	const uint64_t *index = hash_get(&o->sources->by_file, id);
	if (!index)
		return -ENOENT;
	*ret = o->sources->list.data[*index];
	return 0;
}

enum device_source_match device_source_match(const struct device_source *s, struct span text)
{
	uint32_t md5[4]; /* aligned for libiberty */

	if (s->has_md5) {
		md5_buffer((const char *)text.data, text.size, md5);
		return memcmp(md5, s->md5, sizeof(md5)) == 0 ? DEVICE_SOURCE_SAME
							     : DEVICE_SOURCE_DIFFERS;
	}
	return s->size && s->size != text.size ? DEVICE_SOURCE_DIFFERS : DEVICE_SOURCE_UNKNOWN;
}
