/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "symbolize/jit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *name_at(struct jit_symbols *j, uint64_t address)
{
	struct symbol s;
	if (jit_symbols_at(j, address, &s) < 0)
		return "";
	assert_true(address >= s.start && address - s.start < s.size);
	return s.lines[0].name;
}

static void test_map(void **state)
{
	(void)state;
	static const char text[] = "1000 100 a\n"
				   "1020 10 inside a\n"
				   "not a line\n"
				   "10f0 40 over the end of a\n"
				   "2000 100 old\n"
				   "2000 80 new\n"
				   "3000 0 empty\n"
				   "fffffffffffffff0 100 overflows\n"
				   "0x4000 10 with prefix\n"
				   "5000 10 cut off";
	CLEANUP(jit_symbols_free) struct jit_symbols *j = NULL;
	struct err err;
	assert_int_equal(jit_symbols_new_map(&j, span_of(text, strlen(text)), &err), 0);
	assert_string_equal(name_at(j, 0xfff), "");
	assert_string_equal(name_at(j, 0x1000), "a");
	assert_string_equal(name_at(j, 0x101f), "a");
	assert_string_equal(name_at(j, 0x1020), "inside a");
	assert_string_equal(name_at(j, 0x1030), "a");
	assert_string_equal(name_at(j, 0x10f0), "over the end of a");
	assert_string_equal(name_at(j, 0x112f), "over the end of a");
	assert_string_equal(name_at(j, 0x1130), "");
	assert_string_equal(name_at(j, 0x2000), "new");
	assert_string_equal(name_at(j, 0x2080), "old");
	assert_string_equal(name_at(j, 0x5000), "cut off");
	assert_true(jit_symbols_skipped(j) >= 3);
}

/* Against the rule itself: for each address the last line that covers it. */
static void test_overlaps(void **state)
{
	(void)state;
	enum {
		COUNT = 300,
		SPACE = 1000
	};
	struct {
		uint64_t start, size;
	} made[COUNT];
	char text[COUNT * 32];
	size_t n = 0;
	unsigned seed = 12345;

	for (int i = 0; i < COUNT; i++) {
		seed = seed * 1103515245 + 12345;
		made[i].start = (seed >> 16) % SPACE;
		seed = seed * 1103515245 + 12345;
		made[i].size = 1 + (seed >> 16) % 60;
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%lx %lx n%d\n", made[i].start,
				      made[i].size, i);
	}
	CLEANUP(jit_symbols_free) struct jit_symbols *j = NULL;
	struct err err;
	assert_int_equal(jit_symbols_new_map(&j, span_of(text, n), &err), 0);
	assert_int_equal(jit_symbols_count(j), COUNT);
	for (uint64_t at = 0; at < SPACE + 80; at++) {
		char want[16] = "";
		for (int i = 0; i < COUNT; i++) {
			if (at >= made[i].start && at - made[i].start < made[i].size)
				snprintf(want, sizeof(want), "n%d", i);
		}
		assert_string_equal(name_at(j, at), want);
	}
}

struct bytes {
	uint8_t data[1024];
	size_t len;
};

static void put(struct bytes *b, uint64_t value, size_t size)
{
	memcpy(b->data + b->len, &value, size);
	b->len += size;
}

static void put_text(struct bytes *b, const char *text)
{
	size_t n = strlen(text) + 1;
	memcpy(b->data + b->len, text, n);
	b->len += n;
}

static void put_header(struct bytes *b, uint32_t magic, uint32_t size)
{
	put(b, magic, 4);
	put(b, 1, 4);    /* version */
	put(b, size, 4); /* of the header */
	put(b, 62, 4);   /* EM_X86_64 */
	put(b, 0, 4);
	put(b, 1234, 4); /* pid */
	put(b, 99, 8);   /* time */
	put(b, 0, 8);    /* flags */
}

static void put_load(struct bytes *b, uint64_t address, uint64_t index, const char *name)
{
	static const uint8_t code[] = { 0x90, 0x90, 0x90, 0xc3 };
	put(b, 0, 4);
	put(b, 16 + 40 + strlen(name) + 1 + sizeof(code), 4);
	put(b, 100, 8);
	put(b, 1234, 4);
	put(b, 1235, 4);
	put(b, address, 8);
	put(b, address, 8);
	put(b, sizeof(code), 8);
	put(b, index, 8);
	put_text(b, name);
	memcpy(b->data + b->len, code, sizeof(code));
	b->len += sizeof(code);
}

/* Laid out by jitdump-specification.txt. */
static void make_dump(struct bytes *b)
{
	put_header(b, 0x4a695444, 40);
	put_load(b, 0x7000, 1, "one");
	put(b, 2, 4); /* lines of what comes next: address, count */
	put(b, 16 + 16 + 16 + 5 + 16 + 2, 4);
	put(b, 100, 8);
	put(b, 0x7100, 8);
	put(b, 2, 8);
	put(b, 0x7102, 8); /* address, line, discriminator, file */
	put(b, 12, 4);
	put(b, 0, 4);
	put_text(b, "a.jl");
	put(b, 0x7101, 8);
	put(b, 11, 4);
	put(b, 0, 4);
	put_text(b, "\xff"); /* the same */
	put_load(b, 0x7100, 2, "two");
	put(b, 1, 4); /* one moves */
	put(b, 16 + 48, 4);
	put(b, 101, 8);
	put(b, 1234, 4);
	put(b, 1235, 4);
	put(b, 0x7200, 8);
	put(b, 0x7000, 8);
	put(b, 0x7200, 8);
	put(b, 4, 8);
	put(b, 1, 8);
	put(b, 3, 4); /* the end */
	put(b, 16, 4);
	put(b, 102, 8);
}

static void expect_line(struct jit_symbols *j, uint64_t address, uint32_t line)
{
	struct symbol s;
	assert_int_equal(jit_symbols_at(j, address, &s), 0);
	assert_int_equal(s.lines[0].line, line);
	if (line)
		assert_string_equal(s.lines[0].file, "a.jl");
	else
		assert_null(s.lines[0].file);
}

static void test_dump(void **state)
{
	(void)state;
	struct bytes b = { 0 };
	struct err err;
	CLEANUP(jit_symbols_free) struct jit_symbols *j = NULL;
	make_dump(&b);
	assert_int_equal(jit_symbols_new_dump(&j, span_of(b.data, b.len), &err), 0);
	assert_string_equal(name_at(j, 0x7003), "one");
	assert_string_equal(name_at(j, 0x7004), "");
	assert_string_equal(name_at(j, 0x7100), "two");
	assert_string_equal(name_at(j, 0x7201), "one");
	assert_int_equal(jit_symbols_count(j), 3);
	assert_int_equal(jit_symbols_skipped(j), 0);
	expect_line(j, 0x7003, 0);
	expect_line(j, 0x7100, 0);
	expect_line(j, 0x7101, 11);
	expect_line(j, 0x7102, 12);
	expect_line(j, 0x7103, 12);
	expect_line(j, 0x7201, 0);

	/* Written to meanwhile: whatever is whole counts. */
	for (size_t n = 0; n < b.len; n++) {
		struct jit_symbols *part = NULL;
		int rc = jit_symbols_new_dump(&part, span_of(b.data, n), &err);
		assert_int_equal(rc, n < 40 ? -EBADMSG : 0);
		if (rc == 0)
			assert_true(jit_symbols_count(part) <= 3);
		jit_symbols_free(part);
	}
}

static void test_dump_of_others(void **state)
{
	(void)state;
	struct bytes big = { 0 }, small = { 0 };
	struct err err;
	struct jit_symbols *j = NULL;
	put_header(&big, 0x4454694a, 40);
	assert_int_equal(jit_symbols_new_dump(&j, span_of(big.data, big.len), &err), -ENOTSUP);
	put_header(&small, 0x4a695444, 12);
	assert_int_equal(jit_symbols_new_dump(&j, span_of(small.data, small.len), &err), -EBADMSG);
	assert_null(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_dump),
		cmocka_unit_test(test_dump_of_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
