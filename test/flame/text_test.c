/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/text.h"

#include "base/cleanup.h"
#include "flame/base64.h"

#include "unit.h"

#include <string.h>

#define BAD "\xef\xbf\xbd"

static void assert_text(struct strbuf *b, const char *want)
{
	assert_int_equal(strbuf_finish(b), 0);
	assert_string_equal(strbuf_text(b), want);
	strbuf_release(b);
}

static void values(void **state)
{
	(void)state;
	static const struct {
		uint64_t value;
		const char *unit, *want;
	} cases[] = {
		{ 0, "ns", "0 ns" },
		{ 999, "ns", "999 ns" },
		{ 1234, "ns", "1.23 \xc2\xb5s" },
		{ 12345678, "ns", "12.3 ms" },
		{ 975000000, "ns", "975 ms" },
		{ 61000000000, "ns", "61.0 s" },
		{ 1234567, "samples", "1,234,567 samples" },
		{ 999, "launches", "999 launches" },
		{ 1000, "", "1,000" },
		{ 1023, "bytes", "1,023 bytes" },
		{ 1536, "bytes", "1.50 KiB" },
		{ UINT64_MAX, "samples", "18,446,744,073,709,551,615 samples" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf b = { 0 };
		text_value(&b, cases[i].value, cases[i].unit);
		assert_text(&b, cases[i].want);
	}
}

static void shares(void **state)
{
	(void)state;
	static const struct {
		uint64_t part, whole;
		const char *want;
	} cases[] = {
		{ 1, 8, "12.5 %" },   { 8, 8, "100 %" },      { 999, 1000, "99.9 %" },
		{ 0, 8, "0.0 %" },    { 1, 9999, "< 0.1 %" }, { 0, 0, "0.0 %" },
		{ 1, 1000, "0.1 %" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf b = { 0 };
		text_share(&b, cases[i].part, cases[i].whole);
		assert_text(&b, cases[i].want);
	}
}

static void labels(void **state)
{
	(void)state;
	static const struct {
		enum frame_kind kind;
		const char *name;
		size_t columns;
		const char *want;
	} cases[] = {
		{ FRAME_NATIVE, "cudaLaunchKernel", 16, "cudaLaunchKernel" },
		{ FRAME_NATIVE, "cudaLaunchKernel", 15, "cudaLaunchKer.." },
		{ FRAME_NATIVE, "cudaLaunchKernel", 3, "c.." },
		{ FRAME_NATIVE, "cudaLaunchKernel", 2, "" },
		{ FRAME_NATIVE, "abc", 3, "abc" },
		/* Scopes go before letters do, but only of C++ names, and not out of arguments. */
		{ FRAME_CXX, "at::native::matmul", 18, "at::native::matmul" },
		{ FRAME_CXX, "at::native::matmul", 17, "native::matmul" },
		{ FRAME_CXX, "at::native::matmul", 5, "mat.." },
		{ FRAME_CXX, "run<std::vector<int>>(a::b)", 12, "run<std::v.." },
		{ FRAME_PYTHON, "py::forward (model.py:42)", 12, "py::forwar.." },
		/* What an instruction does says more than where it is. */
		{ FRAME_INSTRUCTION, "0x1a0: send.ugm r23", 19, "0x1a0: send.ugm r23" },
		{ FRAME_INSTRUCTION, "0x1a0: send.ugm r23", 18, "send.ugm r23" },
		{ FRAME_INSTRUCTION, "0x1a0: send.ugm r23", 6, "send.." },
		{ FRAME_INSTRUCTION, "0x1a0: ", 5, "0x1.." },
		{ FRAME_NATIVE, "0x1a0: f", 5, "0x1.." },
		/* Two columns each. */
		{ FRAME_NATIVE, "\xe4\xbd\xa0\xe5\xa5\xbd\xe5\x90\x97", 6,
		  "\xe4\xbd\xa0\xe5\xa5\xbd\xe5\x90\x97" },
		{ FRAME_NATIVE, "\xe4\xbd\xa0\xe5\xa5\xbd\xe5\x90\x97", 5, "\xe4\xbd\xa0.." },
		{ FRAME_NATIVE,
		  "a\xff\x1b"
		  "b",
		  4, "a" BAD BAD "b" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf b = { 0 };
		struct frame f = { .kind = cases[i].kind, .name = cases[i].name };
		text_label(&b, &f, cases[i].columns);
		assert_text(&b, cases[i].want);
	}
}

static void xml(void **state)
{
	(void)state;
	struct strbuf b = { 0 };
	text_xml(&b,
		 "<script>\"&'\t\x1b[1m\xff\xe2\x80\xae\xef\xbf\xbe"
		 "x",
		 SIZE_MAX);
	assert_text(&b, "&lt;script&gt;&quot;&amp;'" BAD BAD "[1m" BAD BAD BAD "x");
	text_xml(&b, "0123456789", 4);
	assert_text(&b, "0123... (10 bytes in all)");
	/* Not within a character. */
	text_xml(&b, "abc\xe4\xbd\xa0z", 4);
	assert_text(&b, "abc\xe4\xbd\xa0... (7 bytes in all)");
}

static void json(void **state)
{
	(void)state;
	struct strbuf b = { 0 };
	text_json(&b, "a\"b\\c\n\xe4\xbd\xa0\xff</script>");
	assert_text(&b, "\"a\\\"b\\\\c" BAD "\xe4\xbd\xa0" BAD "</script>\"");
	text_json(&b, "");
	assert_text(&b, "\"\"");
}

/* RFC 4648, section 10, in one piece and byte by byte. */
static void base64(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf b = { 0 };
		struct base64 whole = { 0 }, bytes = { 0 };
		base64_add(&whole, &b, cases[i][0], strlen(cases[i][0]));
		base64_end(&whole, &b);
		assert_text(&b, cases[i][1]);
		for (const char *c = cases[i][0]; *c; c++)
			base64_add(&bytes, &b, c, 1);
		base64_end(&bytes, &b);
		assert_text(&b, cases[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values), cmocka_unit_test(shares), cmocka_unit_test(labels),
		cmocka_unit_test(xml),    cmocka_unit_test(json),   cmocka_unit_test(base64),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
