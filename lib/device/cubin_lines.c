/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cubin_lines.h"

#include "base/bisect.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* DWARF 4, 6.2.5; 0x90 and 0x91 from the headers of CUDA's debugger and elfutils' readelf. */
enum {
	LNS_COPY = 1,
	LNS_ADVANCE_PC,
	LNS_ADVANCE_LINE,
	LNS_SET_FILE,
	LNS_SET_COLUMN,
	LNS_NEGATE_STMT,
	LNS_SET_BASIC_BLOCK,
	LNS_CONST_ADD_PC,
	LNS_FIXED_ADVANCE_PC,
	LNE_END_SEQUENCE = 1,
	LNE_SET_ADDRESS = 2,
	LNE_NVIDIA_INLINED_CALL = 0x90,
	LNE_NVIDIA_SET_FUNCTION_NAME = 0x91,
};

/* A row takes at least a byte of the program; this bounds memory to 2 GB all the same. The largest seen,
 * of a library built with -lineinfo, has 3 million. */
#define ROWS_MAX (64u << 20)
/* Sequences over one place are asked in turn; in good files there is one. */
#define OVERLAPS_MAX 16

struct program {
	struct device_object *o;
	const struct cubin *cubin;
	struct cubin_lines *out;
	struct span section, strings;
	struct hash relocations; /* place -> index into `targets` */
	VEC(struct cubin_relocation) targets;
	/* of the unit */
	uint8_t min_length, line_range, opcode_base;
	int8_t line_base;
	uint8_t lengths[256];
	VEC(uint32_t) folders;
	size_t first_file; /* in out->files */
	/* the machine */
	struct cubin_row row;
	uint32_t of_section; /* 0: dead code */
	size_t first_row;
};

void cubin_lines_release(struct cubin_lines *l)
{
	vec_release(&l->rows);
	vec_release(&l->sequences);
	vec_release(&l->files);
}

/* ---- relocations ---- */

static int read_relocations(struct program *p, const struct elf_section *s)
{
	bool is_rela = s->type == SHT_RELA;
	size_t each = is_rela ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	struct span data;

	if (elf_section_data(p->o->elf, s, &data, NULL) < 0)
		return 0;
	for (size_t at = 0; at + each <= data.size; at += each) {
		Elf64_Rela r = { 0 };
		memcpy(&r, data.data + at, each);
		struct cubin_relocation target = {
			.addend = (uint64_t)r.r_addend,
			.symbol = (uint32_t)ELF64_R_SYM(r.r_info),
			.has_addend = is_rela,
		};
		if (vec_push(&p->targets, target) < 0 ||
		    hash_set(&p->relocations, r.r_offset, p->targets.len - 1) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int find_relocations(struct program *p, const char *name)
{
	char rel[64], rela[64];
	snprintf(rel, sizeof(rel), ".rel.%s", name);
	snprintf(rela, sizeof(rela), ".rela.%s", name);
	for (size_t i = 1; i < elf_section_count(p->o->elf); i++) {
		struct elf_section s = elf_section_get(p->o->elf, i);
		if ((s.type != SHT_REL && s.type != SHT_RELA) ||
		    (strcmp(s.name, rel) != 0 && strcmp(s.name, rela) != 0))
			continue;
		if (read_relocations(p, &s) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- the unit's header ---- */

/* .debug_str at @offset. */
static int string_at(struct program *p, uint64_t offset, uint32_t *ret)
{
	struct cursor c = cursor_of(p->strings, NULL);
	struct span s;
	*ret = 0;
	if (cursor_seek(&c, offset, NULL) < 0 || cursor_cstr(&c, &s, NULL) < 0)
		return 0;
	return strtab_intern(&p->o->strings, s.data, s.size, ret, NULL);
}

static int add_file(struct program *p, struct span name, uint64_t folder)
{
	struct span in = span_of("", 0);
	uint32_t id;
	char path[4096];

	if (folder < p->folders.len)
		in = strtab_get(&p->o->strings, p->folders.data[folder]);
	if (!in.size || (name.size && name.data[0] == '/') ||
	    in.size + name.size + 2 > sizeof(path)) {
		if (strtab_intern(&p->o->strings, name.data, name.size, &id, NULL) < 0)
			return -ENOMEM;
	} else {
		int size = snprintf(path, sizeof(path), "%.*s/%.*s", (int)in.size,
				    (const char *)in.data, (int)name.size, (const char *)name.data);
		if (strtab_intern(&p->o->strings, path, (size_t)size, &id, NULL) < 0)
			return -ENOMEM;
	}
	return vec_push(&p->out->files, id);
}

static int read_folders(struct program *p, struct cursor *c)
{
	p->folders.len = 0;
	for (uint32_t id = 0;;) { /* folder 0 is where it was compiled, which is not written here */
		struct span s;
		if (vec_push(&p->folders, id) < 0)
			return -ENOMEM;
		if (cursor_cstr(c, &s, NULL) < 0)
			return -EBADMSG;
		if (!s.size)
			return 0;
		if (strtab_intern(&p->o->strings, s.data, s.size, &id, NULL) < 0)
			return -ENOMEM;
	}
}

static int read_files(struct program *p, struct cursor *c)
{
	p->first_file = p->out->files.len;
	for (;;) {
		struct span s;
		uint64_t folder, skip;
		if (cursor_cstr(c, &s, NULL) < 0)
			return -EBADMSG;
		if (!s.size)
			return 0;
		if (cursor_uleb(c, &folder, NULL) < 0 || cursor_uleb(c, &skip, NULL) < 0 ||
		    cursor_uleb(c, &skip, NULL) < 0)
			return -EBADMSG;
		if (add_file(p, s, folder) < 0)
			return -ENOMEM;
	}
}

/* What stands before the program; leaves the cursor at the program. */
static int read_header(struct program *p, struct cursor *c)
{
	uint16_t version;
	uint32_t size;
	uint8_t byte;
	struct span lengths;

	if (cursor_u16(c, &version, NULL) < 0 || version < 2 || version > 4 ||
	    cursor_u32(c, &size, NULL) < 0 || size > cursor_left(c))
		return -EBADMSG;
	size_t begin = c->pos + size;
	int rc = cursor_u8(c, &p->min_length, NULL);
	if (!rc && version == 4)
		rc = cursor_u8(c, &byte, NULL); /* operations per instruction: 1 */
	rc = rc ? rc : cursor_u8(c, &byte, NULL);
	rc = rc ? rc : cursor_u8(c, (uint8_t *)&p->line_base, NULL);
	rc = rc ? rc : cursor_u8(c, &p->line_range, NULL);
	rc = rc ? rc : cursor_u8(c, &p->opcode_base, NULL);
	if (rc || !p->line_range || !p->opcode_base ||
	    cursor_bytes(c, p->opcode_base - 1u, &lengths, NULL) < 0)
		return -EBADMSG;
	memcpy(p->lengths + 1, lengths.data, lengths.size);
	rc = read_folders(p, c);
	rc = rc ? rc : read_files(p, c);
	return rc ? rc : cursor_seek(c, begin, NULL);
}

/* ---- the program ---- */

static void reset(struct program *p)
{
	p->row = (struct cubin_row){ .file = 1, .line = 1 };
	p->of_section = 0;
	p->first_row = p->out->rows.len;
}

static int emit(struct program *p)
{
	struct cubin_row row = p->row;
	size_t files = p->out->files.len - p->first_file;
	if (!p->of_section || p->out->rows.len >= ROWS_MAX)
		return 0;
	row.file = row.file && row.file <= files ? (uint32_t)(p->first_file + row.file) : 0;
	return vec_push(&p->out->rows, row);
}

static int end_sequence(struct program *p)
{
	size_t count = p->out->rows.len - p->first_row;
	int rc = 0;
	if (p->of_section && count) {
		struct cubin_sequence s = {
			.section = p->of_section,
			.start = p->out->rows.data[p->first_row].address,
			.end = p->row.address,
			.first = p->first_row,
			.count = count,
		};
		rc = vec_push(&p->out->sequences, s);
	}
	reset(p);
	return rc;
}

/* The operand lies at @at of the section. */
static void set_address(struct program *p, uint64_t at, uint64_t stored)
{
	const uint64_t *index = hash_get(&p->relocations, at);

	p->of_section = 0;
	p->row.address = stored;
	if (!index)
		return;
	const struct cubin_relocation *r = &p->targets.data[*index];
	if (r->symbol >= p->cubin->symbols.len)
		return;
	const struct cubin_symbol *s = &p->cubin->symbols.data[r->symbol];
	p->row.address = s->value + (r->has_addend ? r->addend : stored);
	p->of_section = s->section;
}

static int extended(struct program *p, struct cursor *c, uint64_t base)
{
	uint64_t size, a, b;
	struct span body;
	uint8_t code;

	if (cursor_uleb(c, &size, NULL) < 0)
		return -EBADMSG;
	uint64_t at = base + c->pos + 1;
	if (cursor_bytes(c, size, &body, NULL) < 0)
		return -EBADMSG;
	struct cursor in = cursor_of(body, NULL);
	if (cursor_u8(&in, &code, NULL) < 0)
		return 0;
	switch (code) {
	case LNE_END_SEQUENCE:
		return end_sequence(p);
	case LNE_SET_ADDRESS:
		if (cursor_u64(&in, &a, NULL) == 0)
			set_address(p, at, a);
		return 0;
	case LNE_NVIDIA_INLINED_CALL:
		if (cursor_uleb(&in, &a, NULL) < 0 || cursor_uleb(&in, &b, NULL) < 0)
			return 0;
		p->row.context = a > UINT32_MAX ? 0 : (uint32_t)a;
		p->row.name = 0;
		return p->row.context ? string_at(p, b, &p->row.name) : 0;
	default: /* LNE_NVIDIA_SET_FUNCTION_NAME says what the symbol says */
		return 0;
	}
}

static int standard(struct program *p, struct cursor *c, uint8_t code)
{
	uint64_t a = 0;
	int64_t d = 0;
	uint16_t fixed = 0;

	switch (code) {
	case LNS_COPY:
		return emit(p);
	case LNS_ADVANCE_PC:
		if (cursor_uleb(c, &a, NULL) < 0)
			return -EBADMSG;
		p->row.address += p->min_length * a;
		return 0;
	case LNS_ADVANCE_LINE:
		if (cursor_sleb(c, &d, NULL) < 0)
			return -EBADMSG;
		p->row.line += (uint32_t)d;
		return 0;
	case LNS_SET_FILE:
	case LNS_SET_COLUMN:
		if (cursor_uleb(c, &a, NULL) < 0)
			return -EBADMSG;
		*(code == LNS_SET_FILE ? &p->row.file : &p->row.column) =
			a > UINT32_MAX ? 0 : (uint32_t)a;
		return 0;
	case LNS_CONST_ADD_PC:
		p->row.address +=
			(uint64_t)p->min_length * ((255u - p->opcode_base) / p->line_range);
		return 0;
	case LNS_FIXED_ADVANCE_PC:
		if (cursor_u16(c, &fixed, NULL) < 0)
			return -EBADMSG;
		p->row.address += fixed;
		return 0;
	default:
		for (unsigned i = 0; i < p->lengths[code]; i++) {
			if (cursor_uleb(c, &a, NULL) < 0)
				return -EBADMSG;
		}
		return 0;
	}
}

static int run(struct program *p, struct cursor *c, uint64_t base)
{
	int rc = 0;

	reset(p);
	while (!rc && cursor_left(c)) {
		uint8_t code;
		cursor_u8(c, &code, NULL);
		if (code >= p->opcode_base) {
			unsigned special = code - p->opcode_base;
			p->row.address += (uint64_t)p->min_length * (special / p->line_range);
			p->row.line += (uint32_t)(p->line_base + (int)(special % p->line_range));
			rc = emit(p);
		} else if (code) {
			rc = standard(p, c, code);
		} else {
			rc = extended(p, c, base);
		}
	}
	/* Rows of a sequence that does not end count for nothing. */
	p->out->rows.len = p->first_row;
	return rc;
}

static int run_units(struct program *p)
{
	struct cursor c = cursor_of(p->section, NULL);
	int rc = 0;

	while (!rc && cursor_left(&c)) {
		uint32_t size;
		struct span unit;
		if (cursor_u32(&c, &size, NULL) < 0)
			return -EBADMSG;
		uint64_t base = c.pos;
		if (cursor_bytes(&c, size, &unit, NULL) < 0)
			return -EBADMSG;
		struct cursor in = cursor_of(unit, NULL);
		rc = read_header(p, &in);
		rc = rc ? rc : run(p, &in, base);
	}
	return rc;
}

static int compare_sequences(const void *va, const void *vb)
{
	const struct cubin_sequence *a = va, *b = vb;
	if (a->section != b->section)
		return a->section < b->section ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->first < b->first ? 1 : a->first > b->first ? -1 : 0;
}

static void sort(struct cubin_lines *l)
{
	const struct cubin_sequence *before = NULL;
	if (l->sequences.len)
		qsort(l->sequences.data, l->sequences.len, sizeof(*l->sequences.data),
		      compare_sequences);
	vec_for_each(&l->sequences, s) {
		s->max_end = s->end;
		if (before && before->section == s->section && before->max_end > s->max_end)
			s->max_end = before->max_end;
		before = s;
	}
}

int cubin_lines_read(struct device_object *o, const struct cubin *c, const char *name,
		     struct cubin_lines *ret)
{
	struct program p = { .o = o, .cubin = c, .out = ret };
	struct elf_section s;
	char section[64];
	int rc = 0;

	snprintf(section, sizeof(section), ".%s", name);
	if (elf_section_find(o->elf, section, &s) < 0 ||
	    elf_section_data(o->elf, &s, &p.section, NULL) < 0)
		return 0;
	if (elf_section_find(o->elf, ".debug_str", &s) == 0)
		elf_section_data(o->elf, &s, &p.strings, NULL);
	rc = find_relocations(&p, name);
	rc = rc ? rc : run_units(&p);
	hash_release(&p.relocations);
	vec_release(&p.targets);
	vec_release(&p.folders);
	sort(ret);
	return rc == -ENOMEM ? rc : 0;
}

/* ---- lookup ---- */

/* Addresses rise within a sequence (DWARF 4, 6.2.5); a forged one gives some row. */
static size_t last_row(const struct cubin_lines *l, const struct cubin_sequence *s,
		       uint64_t address)
{
	size_t below = bisect(s->count, i, l->rows.data[s->first + i].address <= address);
	return below ? below - 1 : 0;
}

const struct cubin_sequence *cubin_lines_at(const struct cubin_lines *l, uint32_t section,
					    uint64_t address, size_t *ret_row)
{
	size_t below = bisect(l->sequences.len, i,
			      l->sequences.data[i].section < section ||
				      (l->sequences.data[i].section == section &&
				       l->sequences.data[i].start <= address));

	for (unsigned asked = 0; below-- > 0 && asked < OVERLAPS_MAX; asked++) {
		const struct cubin_sequence *s = &l->sequences.data[below];
		if (s->section != section || s->max_end <= address)
			return NULL;
		if (address < s->end) {
			*ret_row = last_row(l, s, address);
			return s;
		}
	}
	return NULL;
}
