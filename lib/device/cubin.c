/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's cubins. NVIDIA documents no more than the sections' names ("CUDA Binary Utilities"); the rest
 * was found with nvdisasm, readelf and CUPTI on cubins of CUDA 11.8 to 13.0, sm_75 to sm_120:
 * - every function has a section .text.NAME at address 0, or is a part of the kernel's that calls it
 *   ("$KERNEL$NAME"); kernels have bit 4 of st_other set;
 * - instructions have 16 bytes since sm_70, the operation in the lowest 12 bits.
 * Offsets are places in the file.
 */
#include "device/cubin_lines.h"
#include "device/object.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define STO_CUDA_ENTRY 0x10
/* .nv.info: attributes of {u8 format, u8 attribute, u16 size}. */
#define EIFMT_SVAL        4
#define EIATTR_FRAME_SIZE 0x11
#define EIATTR_REGCOUNT   0x2f

static bool cubin_is_mine(struct elf_file *elf)
{
	return elf_header(elf).machine == EM_CUDA_;
}

static void cubin_close(struct device_object *o)
{
	struct cubin *c = o->state;
	if (!c)
		return;
	vec_release(&c->symbols);
	cubin_lines_release(&c->source);
	cubin_lines_release(&c->ptx);
	vec_for_each(&c->texts, t)
		vec_release(&t->lines);
	vec_release(&c->texts);
	sass_release(&c->sass);
	free(c);
}

/* ---- what functions there are ---- */

static const char *name_at(struct span names, uint32_t at)
{
	if (at >= names.size || !memchr(names.data + at, 0, names.size - at))
		return "";
	return (const char *)names.data + at;
}

static int read_symbols(struct device_object *o, struct cubin *c)
{
	for (size_t i = 1; i < elf_section_count(o->elf); i++) {
		struct elf_section s = elf_section_get(o->elf, i), strings;
		struct span data, names = span_of("", 0);
		if (s.type != SHT_SYMTAB)
			continue;
		if (elf_section_data(o->elf, &s, &data, NULL) < 0)
			return 0;
		if (s.link && s.link < elf_section_count(o->elf)) {
			strings = elf_section_get(o->elf, s.link);
			elf_section_data(o->elf, &strings, &names, NULL);
		}
		if (vec_reserve(&c->symbols, data.size / sizeof(Elf64_Sym)) < 0)
			return -ENOMEM;
		for (size_t at = 0; at + sizeof(Elf64_Sym) <= data.size; at += sizeof(Elf64_Sym)) {
			Elf64_Sym y;
			memcpy(&y, data.data + at, sizeof(y));
			struct cubin_symbol symbol = {
				.name = name_at(names, y.st_name),
				.value = y.st_value,
				.size = y.st_size,
				.section = y.st_shndx,
				.type = ELF64_ST_TYPE(y.st_info),
				.other = y.st_other,
			};
			if (vec_push(&c->symbols, symbol) < 0)
				return -ENOMEM;
		}
		return 0; /* there is one */
	}
	return 0;
}

/* "$KERNEL$NAME" is NAME, called by KERNEL alone. */
static const char *own_name(const char *name)
{
	const char *last = strrchr(name, '$');
	return name[0] == '$' && last[1] ? last + 1 : name;
}

/* .nv.info of the whole file: (symbol, value) pairs by attribute. */
static void read_facts(struct device_object *o, const struct cubin *c, uint32_t *registers,
		       uint32_t *frame)
{
	struct elf_section s;
	struct span data;

	if (elf_section_find(o->elf, ".nv.info", &s) < 0 ||
	    elf_section_data(o->elf, &s, &data, NULL) < 0)
		return;
	struct cursor in = cursor_of(data, NULL);
	uint8_t format, attribute;
	uint16_t size;
	while (cursor_u8(&in, &format, NULL) == 0 && cursor_u8(&in, &attribute, NULL) == 0 &&
	       cursor_u16(&in, &size, NULL) == 0) {
		struct span value;
		uint32_t pair[2];
		if (format != EIFMT_SVAL) /* others have their value in place of a size */
			continue;
		if (cursor_bytes(&in, size, &value, NULL) < 0)
			return;
		if (value.size != sizeof(pair))
			continue;
		memcpy(pair, value.data, sizeof(pair));
		if (pair[0] >= c->symbols.len)
			continue;
		if (attribute == EIATTR_REGCOUNT)
			registers[pair[0]] = pair[1];
		else if (attribute == EIATTR_FRAME_SIZE)
			frame[pair[0]] = pair[1];
	}
}

/* Since sm_90 the section counts what the system keeps for itself in each block. */
#define RESERVED_SHARED_BYTES 1024u

/* Bytes of each section ".nv.shared.KERNEL", by the number of KERNEL in @names. */
static int read_shared(const struct device_object *o, struct strtab *names, struct hash *sizes)
{
	static const char prefix[] = ".nv.shared.";
	for (size_t i = 1; i < elf_section_count(o->elf); i++) {
		struct elf_section s = elf_section_get(o->elf, i);
		uint32_t id;
		if (strncmp(s.name, prefix, sizeof(prefix) - 1) != 0 || s.size > UINT32_MAX)
			continue;
		uint64_t reserved = sass_version(o) >= 90 ? RESERVED_SHARED_BYTES : 0;
		uint64_t size = s.size >= reserved ? s.size - reserved : s.size;
		if (strtab_add(names, s.name + sizeof(prefix) - 1, &id) < 0 ||
		    hash_set(sizes, id, size) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int shared_bytes(struct strtab *names, const struct hash *sizes, const char *kernel,
			uint32_t *ret)
{
	uint32_t id;
	if (strtab_add(names, kernel, &id) < 0)
		return -ENOMEM;
	const uint64_t *size = hash_get(sizes, id);
	*ret = size ? (uint32_t)*size : 0;
	return 0;
}

static int add_functions(struct device_object *o, const struct cubin *c, const uint32_t *registers,
			 const uint32_t *frame, struct strtab *names, struct hash *sizes)
{
	if (read_shared(o, names, sizes) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < c->symbols.len; i++) {
		const struct cubin_symbol *y = &c->symbols.data[i];
		if (y->type != STT_FUNC || !*y->name || !y->section ||
		    y->section >= elf_section_count(o->elf))
			continue;
		struct elf_section s = elf_section_get(o->elf, y->section);
		/* .nv.capmerc.text: what sm_100 and later are made from, not what runs. */
		if (strncmp(s.name, ".text", 5) != 0 || s.type != SHT_PROGBITS ||
		    y->value > s.size || y->size > s.size - y->value || s.size > o->bytes.size)
			continue;
		struct device_function f = {
			.name = own_name(y->name),
			.offset = s.offset + y->value,
			.size = y->size,
			.is_kernel = y->other & STO_CUDA_ENTRY,
		};
		f.facts.registers = registers[i];
		f.facts.private_bytes = frame[i];
		if (f.is_kernel && shared_bytes(names, sizes, y->name, &f.facts.shared_bytes) < 0)
			return -ENOMEM;
		if (object_add_function(o, &f, f.offset,
					(uint64_t)y->section << 32 | (y->value & UINT32_MAX)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int cubin_open(struct device_object *o, struct err *err)
{
	struct cubin *c = calloc(1, sizeof(*c));
	if (!c)
		return err_set(err, -ENOMEM, "'%s'", o->name);
	o->state = c;
	snprintf(o->arch, sizeof(o->arch), "sm_%u", sass_version(o));
	int rc = read_symbols(o, c);
	CLEANUP_FREE uint32_t *registers = calloc(c->symbols.len + 1, sizeof(*registers));
	CLEANUP_FREE uint32_t *frame = calloc(c->symbols.len + 1, sizeof(*frame));
	if (rc < 0 || !registers || !frame)
		return err_set(err, -ENOMEM, "'%s'", o->name);
	read_facts(o, c, registers, frame);
	struct strtab names = { 0 };
	struct hash sizes = { 0 };
	rc = add_functions(o, c, registers, frame, &names, &sizes);
	strtab_release(&names);
	hash_release(&sizes);
	return rc < 0 ? err_set(err, rc, "'%s'", o->name) : 0;
}

/* ---- the embedded PTX ---- */

/* Of each object that a cubin was linked from there is one. */
#define TEXTS_MAX 256

static int read_texts(struct device_object *o, struct cubin *c)
{
	for (size_t i = 1; i < elf_section_count(o->elf) && c->texts.len < TEXTS_MAX; i++) {
		struct elf_section s = elf_section_get(o->elf, i);
		struct cubin_text t = { 0 };
		if (strncmp(s.name, ".nv_debug_ptx_txt", 17) != 0 ||
		    elf_section_data(o->elf, &s, &t.text, NULL) < 0 || t.text.size > UINT32_MAX)
			continue;
		if (object_string(o, s.name, &t.file) < 0)
			return -ENOMEM;
		for (size_t at = 0; at < t.text.size;) {
			const uint8_t *end = memchr(t.text.data + at, 0, t.text.size - at);
			if (!end || vec_push(&t.lines, (uint32_t)at) < 0)
				break;
			at = (size_t)(end - t.text.data) + 1;
		}
		if (vec_push(&c->texts, t) < 0) {
			vec_release(&t.lines);
			return -ENOMEM;
		}
	}
	return 0;
}

/* The PTX instruction of one place, without blanks around it: a number of strings, 0: none. */
static int ptx_at(struct device_object *o, const struct cubin *c, uint32_t section,
		  uint64_t address, uint32_t *ret)
{
	size_t row;
	const struct cubin_sequence *s = cubin_lines_at(&c->ptx, section, address, &row);
	const struct cubin_text *t = c->texts.data;

	*ret = 0;
	if (!s || !c->texts.len)
		return 0;
	const struct cubin_row *r = &c->ptx.rows.data[s->first + row];
	uint32_t file = r->file ? c->ptx.files.data[r->file - 1] : 0;
	vec_for_each(&c->texts, it) {
		if (it->file == file)
			t = it;
	}
	if (!r->line || r->line > t->lines.len)
		return 0;
	const char *line = (const char *)t->text.data + t->lines.data[r->line - 1];
	line += strspn(line, " \t");
	size_t size = strcspn(line, "\r\n");
	while (size && (line[size - 1] == ' ' || line[size - 1] == '\t'))
		size--;
	/* Places between instructions: "{", labels, directives. */
	if (size < 2 || line[0] == '.' || line[0] == '{' || line[0] == '}')
		return 0;
	char text[512];
	size = size < sizeof(text) ? size : sizeof(text) - 1;
	for (size_t i = 0; i < size; i++)
		text[i] = line[i] == '\t' ? ' ' : line[i];
	return strtab_intern(&o->strings, text, size, ret, NULL);
}

/* ---- instructions ---- */

/* From the place's row along its calls outwards. */
static int chain_at(struct device_object *o, const struct function *f, const struct cubin_lines *l,
		    uint32_t section, uint64_t address, uint32_t *ret)
{
	struct chain_line inner[CHAIN_LINES_MAX], lines[CHAIN_LINES_MAX];
	size_t row, count = 0;
	const struct cubin_sequence *s = cubin_lines_at(l, section, address, &row);

	*ret = 0;
	size_t depth = o->chain_total < CHAIN_TOTAL_MAX ? CHAIN_LINES_MAX : 1;
	while (s && count < depth) {
		const struct cubin_row *r = &l->rows.data[s->first + row];
		inner[count++] = (struct chain_line){
			.name = r->context ? r->name : 0,
			.file = r->file ? l->files.data[r->file - 1] : 0,
			.line = r->line,
			.column = r->column,
		};
		/* A call stands before what it calls. */
		if (!r->context || r->context > s->count || r->context - 1 == row)
			break;
		row = r->context - 1;
	}
	if (!count)
		return 0;
	for (size_t i = 0; i < count; i++)
		lines[i] = inner[count - 1 - i];
	if (object_string(o, f->pub.name, &lines[0].name) < 0)
		return -ENOMEM;
	return object_chain(o, lines, count, ret);
}

static int cubin_read(struct device_object *o, struct cubin *c)
{
	if (c->is_read)
		return 0;
	c->is_read = true;
	if (cubin_lines_read(o, c, "debug_line", &c->source) < 0 ||
	    cubin_lines_read(o, c, "nv_debug_line_sass", &c->ptx) < 0)
		return -ENOMEM;
	return read_texts(o, c);
}

static int cubin_list(struct device_object *o, size_t function)
{
	const struct function *f = &o->functions.data[function];
	struct cubin *c = o->state;
	uint32_t section = (uint32_t)(f->tag >> 32);

	if (cubin_read(o, c) < 0 || sass_ask(o, &c->sass, section) < 0)
		return -ENOMEM;
	uint64_t base = elf_section_get(o->elf, section).offset;
	for (size_t at = 0; at + SASS_BYTES <= f->code.size; at += SASS_BYTES) {
		struct row row = { .offset = f->pub.offset + at, .length = SASS_BYTES };
		struct span code = span_of(f->code.data + at, SASS_BYTES);
		uint64_t address = row.offset - base;
		if ((!(o->flags & DEVICE_NO_TEXT) &&
		     sass_text(o, &c->sass, row.offset, code, &row.text) < 0) ||
		    ptx_at(o, c, section, address, &row.assembly) < 0 ||
		    chain_at(o, f, &c->source, section, address, &row.chain) < 0)
			return -ENOMEM;
		int rc = object_add_row(o, function, &row);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

const struct device_ops device_cubin = {
	.format = DEVICE_CUBIN,
	.is_mine = cubin_is_mine,
	.open = cubin_open,
	.list = cubin_list,
	.close = cubin_close,
};
