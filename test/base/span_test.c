/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/span.h"

#include <errno.h>
#include <string.h>

static struct cursor over(const void *data, size_t size)
{
	return cursor_of(span_of(data, size), "file: section");
}
#define OVER(...) over((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void test_contains_does_not_overflow(void **state)
{
	(void)state;
	struct span s = span_of("0123456789", 10);
	assert_true(span_contains(s, 0, 10));
	assert_true(span_contains(s, 10, 0));
	assert_false(span_contains(s, 10, 1));
	assert_false(span_contains(s, 11, 0));
	assert_false(span_contains(s, UINT64_MAX, 2));
	assert_false(span_contains(s, 2, UINT64_MAX));
	assert_false(span_contains(s, UINT64_MAX, UINT64_MAX));
}

static void test_slice(void **state)
{
	(void)state;
	struct span s = span_of("0123456789", 10), part = { 0 };
	assert_int_equal(span_slice(s, 3, 4, &part), 0);
	assert_int_equal(part.size, 4);
	assert_memory_equal(part.data, "3456", 4);
	assert_int_equal(span_slice(s, 7, 4, &part), -EBADMSG);
	assert_memory_equal(part.data, "3456", 4); /* untouched */
}

static void test_fixed_sizes(void **state)
{
	(void)state;
	struct cursor c = OVER(0x12, 0x34, 0x56, 0x01, 0x02, 0x03, 0x84, 0xff, 0xee, 0xdd, 0xcc,
			       0xbb, 0xaa, 0x99, 0x88);
	uint8_t a;
	uint16_t b;
	uint32_t d;
	uint64_t e;
	assert_int_equal(cursor_u8(&c, &a, NULL), 0);
	assert_int_equal(a, 0x12);
	assert_int_equal(cursor_u16(&c, &b, NULL), 0);
	assert_int_equal(b, 0x5634);
	assert_int_equal(cursor_u32(&c, &d, NULL), 0);
	assert_int_equal(d, 0x84030201);
	assert_int_equal(cursor_u64(&c, &e, NULL), 0);
	assert_true(e == 0x8899aabbccddeeff);
	assert_int_equal(cursor_left(&c), 0);
	assert_int_equal(cursor_u8(&c, &a, NULL), -EBADMSG);
	assert_int_equal(a, 0x12);
}

static void test_failure_changes_nothing_and_names_the_place(void **state)
{
	(void)state;
	struct cursor c = OVER(1, 2, 3);
	struct err err;
	uint32_t value = 77;
	uint8_t first;
	assert_int_equal(cursor_u8(&c, &first, NULL), 0);
	c.base = 0x1000;
	assert_int_equal(cursor_u32(&c, &value, &err), -EBADMSG);
	assert_string_equal(err.text, "file: section+0x1001: truncated");
	assert_int_equal(value, 77);
	assert_int_equal(c.pos, 1);
	c.what = NULL;
	assert_int_equal(cursor_fail(&c, &err, "odd"), -EBADMSG);
	assert_string_equal(err.text, "input+0x1001: odd");
}

/* Values of DWARF 5, figures 7.23 and 7.24 (section 7.6), and the ends of the range. */
static void test_leb128(void **state)
{
	(void)state;
	static const struct {
		uint8_t bytes[10];
		size_t size;
		uint64_t value;
	} unsigneds[] = {
		{ { 0 }, 1, 0 },
		{ { 2 }, 1, 2 },
		{ { 127 }, 1, 127 },
		{ { 0x80, 1 }, 2, 128 },
		{ { 1 + 0x80, 1 }, 2, 129 },
		{ { 57 + 0x80, 100 }, 2, 12857 },
		{ { 0xff, 0xff, 0xff, 0xff, 0x0f }, 5, UINT32_MAX },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 }, 10, UINT64_MAX },
		{ { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1 }, 10, 1ull << 63 },
	};
	static const struct {
		uint8_t bytes[10];
		size_t size;
		int64_t value;
	} signeds[] = {
		{ { 2 }, 1, 2 },
		{ { 0x7e }, 1, -2 },
		{ { 127 + 0x80, 0 }, 2, 127 },
		{ { 1 + 0x80, 0x7f }, 2, -127 },
		{ { 0x80, 1 }, 2, 128 },
		{ { 0x80, 0x7f }, 2, -128 },
		{ { 1 + 0x80, 1 }, 2, 129 },
		{ { 0x7f + 0x80, 0x7e }, 2, -129 },
		{ { 0x7f }, 1, -1 },
		{ { 0x40 }, 1, -64 },
		{ { 0x3f }, 1, 63 },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0 }, 10, INT64_MAX },
		{ { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f }, 10, INT64_MIN },
	};

	for (size_t i = 0; i < sizeof(unsigneds) / sizeof(unsigneds[0]); i++) {
		struct cursor c = over(unsigneds[i].bytes, unsigneds[i].size);
		uint64_t value = 99;
		assert_int_equal(cursor_uleb(&c, &value, NULL), 0);
		assert_true(value == unsigneds[i].value);
		assert_int_equal(cursor_left(&c), 0);
		c = over(unsigneds[i].bytes, unsigneds[i].size - 1);
		assert_int_equal(cursor_uleb(&c, &value, NULL), -EBADMSG);
	}
	for (size_t i = 0; i < sizeof(signeds) / sizeof(signeds[0]); i++) {
		struct cursor c = over(signeds[i].bytes, signeds[i].size);
		int64_t value = 99;
		assert_int_equal(cursor_sleb(&c, &value, NULL), 0);
		assert_true(value == signeds[i].value);
		assert_int_equal(cursor_left(&c), 0);
		c = over(signeds[i].bytes, signeds[i].size - 1);
		assert_int_equal(cursor_sleb(&c, &value, NULL), -EBADMSG);
	}
}

/* Padding is legal (linkers relax into it); a 65th bit is not. */
static void test_leb128_width(void **state)
{
	(void)state;
	uint64_t u = 99;
	int64_t s = 99;
	struct cursor c = OVER(0x85, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0);
	assert_int_equal(cursor_uleb(&c, &u, NULL), 0);
	assert_int_equal(u, 5);
	c.pos = 0;
	assert_int_equal(cursor_sleb(&c, &s, NULL), 0);
	assert_int_equal(s, 5);
	c = OVER(0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f);
	assert_int_equal(cursor_sleb(&c, &s, NULL), 0);
	assert_int_equal(s, -5);
	c.pos = 0;
	assert_int_equal(cursor_uleb(&c, &u, NULL), -EBADMSG);

	c = OVER(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2);
	assert_int_equal(cursor_uleb(&c, &u, NULL), -EBADMSG);
	c.pos = 0;
	assert_int_equal(cursor_sleb(&c, &s, NULL), -EBADMSG);
	c = OVER(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1); /* 2^63 */
	assert_int_equal(cursor_sleb(&c, &s, NULL), -EBADMSG);
	c = OVER(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0xff, 0);
	assert_int_equal(cursor_sleb(&c, &s, NULL), -EBADMSG); /* negative, then positive */
	assert_int_equal(s, -5);
	assert_int_equal(u, 5);
	assert_int_equal(c.pos, 0);
}

static void test_strings_and_places(void **state)
{
	(void)state;
	struct cursor c = over("ab\0cd", 5);
	struct span s;
	assert_int_equal(cursor_cstr(&c, &s, NULL), 0);
	assert_int_equal(s.size, 2);
	assert_string_equal((const char *)s.data, "ab");
	assert_int_equal(c.pos, 3);
	assert_int_equal(cursor_cstr(&c, &s, NULL), -EBADMSG);
	assert_int_equal(c.pos, 3);
	assert_int_equal(cursor_bytes(&c, 2, &s, NULL), 0);
	assert_memory_equal(s.data, "cd", 2);
	assert_int_equal(cursor_cstr(&c, &s, NULL), -EBADMSG);
	assert_int_equal(cursor_seek(&c, 5, NULL), 0);
	assert_int_equal(cursor_seek(&c, 6, NULL), -EBADMSG);
	assert_int_equal(cursor_seek(&c, 1, NULL), 0);
	assert_int_equal(cursor_skip(&c, 5, NULL), -EBADMSG);
	assert_int_equal(cursor_skip(&c, UINT64_MAX, NULL), -EBADMSG);
	assert_int_equal(cursor_skip(&c, 4, NULL), 0);
	assert_int_equal(c.pos, 5);
	c = over(NULL, 0);
	assert_int_equal(cursor_cstr(&c, &s, NULL), -EBADMSG);
	assert_int_equal(cursor_bytes(&c, 0, &s, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contains_does_not_overflow),
		cmocka_unit_test(test_slice),
		cmocka_unit_test(test_fixed_sizes),
		cmocka_unit_test(test_failure_changes_nothing_and_names_the_place),
		cmocka_unit_test(test_leb128),
		cmocka_unit_test(test_leb128_width),
		cmocka_unit_test(test_strings_and_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
