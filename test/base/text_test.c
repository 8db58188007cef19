/* SPDX-License-Identifier: Apache-2.0 */
/* strbuf, utf8, parse, err. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "base/utf8.h"

#include <errno.h>
#include <string.h>

static void test_strbuf(void **state)
{
	(void)state;
	struct strbuf b = { 0 };
	assert_string_equal(strbuf_text(&b), "");
	strbuf_puts(&b, "ab");
	strbuf_putc(&b, 'c');
	strbuf_printf(&b, "-%d-%s", 42, "x");
	strbuf_add(&b, "y\0z", 3);
	assert_int_equal(b.len, 11);
	assert_memory_equal(b.data, "abc-42-xy\0z", 12);
	assert_int_equal(strbuf_finish(&b), 0);
	strbuf_reset(&b);
	assert_string_equal(strbuf_text(&b), "");
	assert_int_equal(b.len, 0);
	for (int i = 0; i < 10000; i++)
		strbuf_printf(&b, "%04d", i);
	assert_int_equal(b.len, 40000);
	assert_memory_equal(b.data + 4 * 1234, "1234", 4);

	/* An impossible size is remembered, and what comes later does nothing. */
	volatile size_t impossible = SIZE_MAX; /* a constant is refused by the compiler */
	strbuf_add(&b, "", impossible);
	assert_int_equal(strbuf_finish(&b), -ENOMEM);
	strbuf_puts(&b, "more");
	assert_int_equal(b.len, 40000);
	strbuf_reset(&b);
	assert_int_equal(strbuf_finish(&b), 0);
	strbuf_release(&b);
	assert_string_equal(strbuf_text(&b), "");
}

static void test_utf8(void **state)
{
	(void)state;
	/* RFC 3629, sections 3 and 4: first and last of each length, and what is excluded. */
	static const struct {
		const char *text;
		size_t len;
		uint32_t code;
	} cases[] = {
		{ "A", 1, 'A' },
		{ "\x7f", 1, 0x7f },
		{ "\xc2\x80", 2, 0x80 },
		{ "\xdf\xbf", 2, 0x7ff },
		{ "\xe0\xa0\x80", 3, 0x800 },
		{ "\xe2\x82\xac", 3, 0x20ac }, /* euro sign */
		{ "\xed\x9f\xbf", 3, 0xd7ff },
		{ "\xee\x80\x80", 3, 0xe000 },
		{ "\xef\xbf\xbf", 3, 0xffff },
		{ "\xf0\x90\x80\x80", 4, 0x10000 },
		{ "\xf4\x8f\xbf\xbf", 4, 0x10ffff },
		/* overlong */
		{ "\xc0\x80", 1, UINT32_MAX },
		{ "\xc1\xbf", 1, UINT32_MAX },
		{ "\xe0\x9f\xbf", 1, UINT32_MAX },
		{ "\xf0\x8f\xbf\xbf", 1, UINT32_MAX },
		/* surrogates */
		{ "\xed\xa0\x80", 1, UINT32_MAX },
		{ "\xed\xbf\xbf", 1, UINT32_MAX },
		/* beyond the end */
		{ "\xf4\x90\x80\x80", 1, UINT32_MAX },
		{ "\xf5\x80\x80\x80", 1, UINT32_MAX },
		{ "\xff", 1, UINT32_MAX },
		/* cut short, or no start */
		{ "\xe2\x82", 1, UINT32_MAX },
		{ "\xe2\x41\xac", 1, UINT32_MAX },
		{ "\x80", 1, UINT32_MAX },
		{ "\xbf", 1, UINT32_MAX },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t code = 1;
		size_t len = utf8_next(cases[i].text, strlen(cases[i].text), &code);
		if (len != cases[i].len || code != cases[i].code)
			fail_msg("case %zu: length %zu, code %x", i, len, code);
	}
	uint32_t code;
	assert_int_equal(utf8_next("\0", 1, &code), 1);
	assert_int_equal(code, 0);
}

static void test_unsafe_characters(void **state)
{
	(void)state;
	static const uint32_t unsafe[] = { 0,      0x1b,   0x1f,   0x7f,   0x80,      0x9b,
					   0x9f,   0x200e, 0x200f, 0x202a, 0x202e,    0x2066,
					   0x2069, 0x2028, 0x2029, 0x061c, UINT32_MAX };
	static const uint32_t safe[] = {
		' ', 'a', '~', 0xa0, 0xe9, 0x200d, 0x2027, 0x202f, 0x1f600
	};
	for (size_t i = 0; i < ARRAY_SIZE(unsafe); i++)
		assert_true(utf8_is_unsafe(unsafe[i]));
	for (size_t i = 0; i < ARRAY_SIZE(safe); i++)
		assert_false(utf8_is_unsafe(safe[i]));

	struct strbuf out = { 0 };
	const char text[] = "a\x1b[2J\xe2\x80\xae"
			    "b\xff\xe2\x82\xac";
	utf8_append_safe(&out, text, sizeof(text) - 1);
	assert_string_equal(strbuf_text(&out), "a\xef\xbf\xbd[2J\xef\xbf\xbd"
					       "b\xef\xbf\xbd\xe2\x82\xac");
	strbuf_release(&out);
}

static void test_parse_numbers(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int base, rc;
		uint64_t value;
	} cases[] = {
		{ "0", 10, 0, 0 },
		{ "007", 10, 0, 7 },
		{ "18446744073709551615", 10, 0, UINT64_MAX },
		{ "18446744073709551616", 10, -ERANGE, 0 },
		{ "99999999999999999999999", 10, -ERANGE, 0 },
		{ "ffffffffffffffff", 16, 0, UINT64_MAX },
		{ "0xFf", 16, 0, 255 },
		{ "10000000000000000", 16, -ERANGE, 0 },
		{ "0x", 16, -EINVAL, 0 },
		{ "777", 8, 0, 511 },
		{ "8", 8, -EINVAL, 0 },
		{ "", 10, -EINVAL, 0 },
		{ " 1", 10, -EINVAL, 0 },
		{ "1 ", 10, -EINVAL, 0 },
		{ "+1", 10, -EINVAL, 0 },
		{ "-1", 10, -EINVAL, 0 },
		{ "1a", 10, -EINVAL, 0 },
		{ "0x10", 10, -EINVAL, 0 },
		{ "1.0", 10, -EINVAL, 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t value = 4711;
		int rc = parse_u64(cases[i].text, cases[i].base, &value);
		if (rc != cases[i].rc || value != (rc ? 4711 : cases[i].value))
			fail_msg("'%s': %d, %ju", cases[i].text, rc, (uintmax_t)value);
	}
	uint32_t narrow = 3;
	assert_int_equal(parse_u32("4294967295", 10, &narrow), 0);
	assert_int_equal(narrow, UINT32_MAX);
	assert_int_equal(parse_u32("4294967296", 10, &narrow), -ERANGE);

	/* Never beyond the end that was given. */
	const char *text = "1234x", *end = text + 2;
	uint64_t value;
	assert_int_equal(parse_digits(&text, end, 10, &value), 0);
	assert_int_equal(value, 12);
	assert_ptr_equal(text, end);
	assert_int_equal(parse_digits(&text, end, 10, &value), -EINVAL);
}

static void test_parse_size(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int rc;
		uint64_t bytes;
	} cases[] = {
		{ "0", 0, 0 },
		{ "512", 0, 512 },
		{ "512B", 0, 512 },
		{ "64K", 0, 65536 },
		{ "64M", 0, 67108864 },
		{ "3G", 0, 3221225472 },
		{ "17179869183G", 0, 18446744072635809792u }, /* (2^34 - 1) * 2^30 */
		{ "17179869184G", -ERANGE, 0 },
		{ "1T", -EINVAL, 0 },
		{ "1k", -EINVAL, 0 },
		{ "1KB", -EINVAL, 0 },
		{ "K", -EINVAL, 0 },
		{ "1.5M", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t bytes = 4711;
		int rc = parse_size(cases[i].text, &bytes);
		if (rc != cases[i].rc || bytes != (rc ? 4711 : cases[i].bytes))
			fail_msg("'%s': %d, %ju", cases[i].text, rc, (uintmax_t)bytes);
	}
}

static void test_parse_duration(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int rc;
		uint64_t ns;
	} cases[] = {
		{ "0", 0, 0 },
		{ "10", 0, 10000000000 },
		{ "10s", 0, 10000000000 },
		{ "1.5", 0, 1500000000 },
		{ "0.000000001", 0, 1 },
		{ "200ms", 0, 200000000 },
		{ "1.5ms", 0, 1500000 },
		{ "7us", 0, 7000 },
		{ "7ns", 0, 7 },
		{ "0.5ns", 0, 0 },
		{ "5m", 0, 300000000000 },
		{ "1.5h", 0, 5400000000000 },
		{ "2562047h", 0, 9223369200000000000 },
		{ "5124096h", -ERANGE, 0 }, /* 1.8446746e19 ns is just above 2^64 */
		{ "18446744073.709551615", 0, UINT64_MAX },
		{ "18446744073.709551616", -ERANGE, 0 },
		{ "5124095.999999999h", -ERANGE, 0 },
		{ "99999999999s", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ ".5", -EINVAL, 0 },
		{ "1.", -EINVAL, 0 },
		{ "1.s", -EINVAL, 0 },
		{ "1.0000000001", -EINVAL, 0 }, /* less than a nanosecond */
		{ "-1", -EINVAL, 0 },
		{ "1d", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "1S", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t ns = 4711;
		int rc = parse_duration(cases[i].text, &ns);
		if (rc != cases[i].rc || ns != (rc ? 4711 : cases[i].ns))
			fail_msg("'%s': %d, %ju", cases[i].text, rc, (uintmax_t)ns);
	}
}

static void test_err(void **state)
{
	(void)state;
	struct err err;
	assert_int_equal(err_set(&err, -ENOENT, "cannot open '%s'", "x"), -ENOENT);
	assert_string_equal(err.text, "cannot open 'x': No such file or directory");
	assert_int_equal(err_set(&err, -EINVAL, "'%d' is odd", 3), -EINVAL);
	assert_string_equal(err.text, "'3' is odd");
	assert_int_equal(err_prefix(&err, -EINVAL, "line %d", 7), -EINVAL);
	assert_string_equal(err.text, "line 7: '3' is odd");
	assert_int_equal(err_set(NULL, -EIO, "nobody listens"), -EIO);
	assert_int_equal(err_prefix(NULL, -EIO, "nobody listens"), -EIO);

	/* Longer than the text: cut, with its NUL. */
	char large[2000];
	memset(large, 'x', sizeof(large));
	large[sizeof(large) - 1] = '\0';
	assert_int_equal(err_set(&err, -ENOENT, "%s", large), -ENOENT);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_int_equal(err_prefix(&err, -ENOENT, "%s", large), -ENOENT);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strbuf),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_unsafe_characters),
		cmocka_unit_test(test_parse_numbers),
		cmocka_unit_test(test_parse_size),
		cmocka_unit_test(test_parse_duration),
		cmocka_unit_test(test_err),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
