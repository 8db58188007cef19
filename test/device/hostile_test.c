/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that are made to cost much: what is kept of them is bounded by their size, and so is the time, which
 * nothing here measures but the limit of ctest. */
#include "unit.h"

#include "base/strbuf.h"
#include "device/device.h"
#include "device/images.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define SECTIONS_MAX 8

struct section {
	const char *name;
	uint32_t type, link, info;
	uint64_t entry;
	struct strbuf data;
};

struct object {
	struct section sections[SECTIONS_MAX];
	size_t count; /* without the null section */
};

static struct strbuf *add_section(struct object *o, const char *name, uint32_t type, uint32_t link,
				  uint32_t info, uint64_t entry)
{
	assert_true(o->count < SECTIONS_MAX);
	o->sections[o->count] = (struct section){ name, type, link, info, entry, { 0 } };
	return &o->sections[o->count++].data;
}

/* A cubin of sm_90 in ABI 8, of these sections and their names. */
static void write_object(struct object *o, struct strbuf *out)
{
	Elf64_Ehdr e = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT,
				      0x41, 8 },
			 .e_type = ET_EXEC,
			 .e_machine = 190,
			 .e_version = 1,
			 .e_flags = 90 << 8,
			 .e_ehsize = sizeof(e),
			 .e_shentsize = sizeof(Elf64_Shdr) };
	Elf64_Shdr h[SECTIONS_MAX + 1] = { 0 };
	struct strbuf *names = add_section(o, ".shstrtab", SHT_STRTAB, 0, 0, 0);
	uint64_t at = sizeof(e);

	strbuf_putc(names, '\0');
	for (size_t i = 0; i < o->count; i++) {
		h[i + 1].sh_name = (uint32_t)names->len;
		strbuf_add(names, o->sections[i].name, strlen(o->sections[i].name) + 1);
	}
	for (size_t i = 0; i < o->count; i++) {
		const struct section *s = &o->sections[i];
		h[i + 1].sh_type = s->type;
		h[i + 1].sh_link = s->link;
		h[i + 1].sh_info = s->info;
		h[i + 1].sh_entsize = s->entry;
		h[i + 1].sh_offset = at;
		h[i + 1].sh_size = s->data.len;
		at += s->data.len;
	}
	e.e_shoff = at;
	e.e_shnum = (uint16_t)(o->count + 1);
	e.e_shstrndx = (uint16_t)o->count;
	strbuf_add(out, &e, sizeof(e));
	for (size_t i = 0; i < o->count; i++) {
		strbuf_add(out, o->sections[i].data.data, o->sections[i].data.len);
		strbuf_release(&o->sections[i].data);
	}
	strbuf_add(out, h, (o->count + 1) * sizeof(*h));
	assert_int_equal(strbuf_finish(out), 0);
}

static void add_code(struct object *o, size_t size)
{
	struct strbuf *text = add_section(o, ".text.k", SHT_PROGBITS, 0, 0, 0);
	for (size_t i = 0; i < size; i++)
		strbuf_putc(text, (char)(i * 7));
}

static void add_symbol(struct strbuf *symbols, uint64_t value, uint64_t size)
{
	Elf64_Sym y = { .st_name = 1,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_other = 0x10,
			.st_shndx = 1,
			.st_value = value,
			.st_size = size };
	strbuf_add(symbols, &y, sizeof(y));
}

/* List all, and give back how many rows and lines there are. */
static void list_all(const struct strbuf *file, size_t *ret_rows, size_t *ret_lines)
{
	CLEANUP(device_close) struct device_object *o = NULL;
	struct device_place p;
	struct err err = { "" };

	if (device_open(&o, span_of(file->data, file->len), "hostile", 0, &err) < 0)
		fail_msg("%s", err.text);
	*ret_rows = *ret_lines = 0;
	for (size_t i = 0; i < device_function_count(o); i++) {
		int64_t count = device_place_count(o, i);
		assert_true(count >= 0);
		*ret_rows += (size_t)count;
		for (size_t k = 0; k < (size_t)count; k++) {
			device_place_get(o, i, k, &p);
			assert_true(p.line_count <= 256);
			*ret_lines += p.line_count;
		}
		if (device_resolve(o, device_function_get(o, i)->offset, &p) < 0)
			fail();
	}
}

#define MANY 30000u

/* Each function is all the code behind it: 30,000 functions of 30,000 instructions on average. */
static void test_nested(void **state)
{
	struct object o = { .count = 0 };
	struct strbuf file = { 0 };
	size_t rows, lines;

	(void)state;
	add_code(&o, 2 * MANY * 16);
	struct strbuf *names = add_section(&o, ".strtab", SHT_STRTAB, 0, 0, 0);
	strbuf_add(names, "\0k", 3);
	struct strbuf *symbols = add_section(&o, ".symtab", SHT_SYMTAB, 2, 1, sizeof(Elf64_Sym));
	for (uint64_t i = 0; i < MANY; i++)
		add_symbol(symbols, i * 16, 2 * MANY * 16 - 2 * i * 16);
	write_object(&o, &file);
	list_all(&file, &rows, &lines);
	assert_true(rows <= file.len);
	strbuf_release(&file);
}

/* As many at one place, beside one that is all the code. */
static void test_stacked(void **state)
{
	struct object o = { .count = 0 };
	struct strbuf file = { 0 };
	size_t rows, lines;

	(void)state;
	add_code(&o, MANY * 16);
	struct strbuf *names = add_section(&o, ".strtab", SHT_STRTAB, 0, 0, 0);
	strbuf_add(names, "\0k", 3);
	struct strbuf *symbols = add_section(&o, ".symtab", SHT_SYMTAB, 2, 1, sizeof(Elf64_Sym));
	add_symbol(symbols, 0, MANY * 16);
	for (uint64_t i = 0; i < MANY; i++)
		add_symbol(symbols, 0, 160);
	write_object(&o, &file);
	list_all(&file, &rows, &lines);
	assert_true(rows <= file.len);
	strbuf_release(&file);
}

static void add_header(struct strbuf *lines, uint32_t size)
{
	/* Version 2, no folders, one file "a"; lengths of nine standard opcodes. */
	static const uint8_t rest[] = { 1, 1, 0xfb, 14, 10,  0, 1, 1, 1, 1, 0,
					0, 0, 1,    0,  'a', 0, 0, 0, 0, 0 };
	uint32_t length = 2 + 4 + sizeof(rest) + size, header = sizeof(rest);
	uint16_t version = 2;
	strbuf_add(lines, &length, 4);
	strbuf_add(lines, &version, 2);
	strbuf_add(lines, &header, 4);
	strbuf_add(lines, rest, sizeof(rest));
}

#define DEEP 4000u

/* Every row says that it was called from the row before: chains of up to DEEP calls. */
static void test_deep(void **state)
{
	struct object o = { .count = 0 };
	struct strbuf file = { 0 }, program = { 0 };
	static const uint8_t address[11] = { 0, 9, 2 };
	size_t rows, lines;

	(void)state;
	add_code(&o, DEEP * 16);
	struct strbuf *names = add_section(&o, ".strtab", SHT_STRTAB, 0, 0, 0);
	strbuf_add(names, "\0k", 3);
	struct strbuf *symbols = add_section(&o, ".symtab", SHT_SYMTAB, 2, 1, sizeof(Elf64_Sym));
	add_symbol(symbols, 0, 0);
	add_symbol(symbols, 0, DEEP * 16);
	strbuf_add(&program, address, sizeof(address));
	for (uint32_t i = 0; i < DEEP; i++) {
		/* 0x90: ULEB context, which counts from 1, ULEB name; advance 16 bytes, a line; a row. */
		uint8_t call[] = { 0,
				   5,
				   0x90,
				   (uint8_t)((i & 0x7f) | 0x80),
				   (uint8_t)((i >> 7 & 0x7f) | 0x80),
				   (uint8_t)(i >> 14),
				   0,
				   3,
				   1,
				   1,
				   2,
				   16 };
		strbuf_add(&program, call, sizeof(call));
	}
	strbuf_add(&program, "\0\1\1", 3);
	struct strbuf *table = add_section(&o, ".debug_line", SHT_PROGBITS, 0, 0, 0);
	add_header(table, (uint32_t)program.len);
	uint64_t operand = table->len + 3;
	strbuf_add(table, program.data, program.len);
	Elf64_Rel r = { .r_offset = operand, .r_info = ELF64_R_INFO(1ull, 2) };
	struct strbuf *relocations = add_section(&o, ".rel.debug_line", SHT_REL, 3, 4, sizeof(r));
	strbuf_add(relocations, &r, sizeof(r));
	write_object(&o, &file);
	list_all(&file, &rows, &lines);
	assert_int_equal(rows, DEEP);
	/* The chains are there, and none is deeper than is allowed. */
	assert_true(lines > DEEP * 200 && lines <= DEEP * 256);
	strbuf_release(&file);
	strbuf_release(&program);
}

static int try_inflate(void *data, const struct device_image *image)
{
	CLEANUP_FREE uint8_t *owned = NULL;
	struct span bytes;
	*(int *)data = device_image_inflate(image, &bytes, &owned, NULL);
	return 0;
}

/* A fatbin whose 32 bytes claim to become a terabyte, or a gigabyte. */
static void test_bomb(void **state)
{
	static const uint64_t claims[] = { 1ull << 40, 1ull << 30, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(claims); i++) {
		uint8_t file[16 + 64 + 32] = { 0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 96 };
		uint8_t *entry = file + 16;
		uint32_t header = 64, compressed = 32;
		uint64_t padded = 32, flags = 0x8000;
		int rc = 0;
		entry[0] = 2;
		memcpy(entry + 4, &header, 4);
		memcpy(entry + 8, &padded, 8);
		memcpy(entry + 16, &compressed, 4);
		memcpy(entry + 40, &flags, 8);
		memcpy(entry + 56, &claims[i], 8);
		assert_int_equal(device_images(span_of(file, sizeof(file)), "bomb", try_inflate,
					       &rc, NULL, NULL),
				 0);
		assert_int_equal(rc, -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_stacked),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_bomb),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
