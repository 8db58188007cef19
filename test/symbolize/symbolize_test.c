/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "symbolize/captured.h"
#include "symbolize/symbolize.h"

#include <string.h>

static struct symbol_frames ask(struct symbolizer *s, uint32_t object, enum symbolize_kind kind,
				uint64_t offset, const char *module, int rc)
{
	struct symbolize_query q = {
		.object = object,
		.kind = kind,
		.offset = offset,
		.module = module,
	};
	struct symbol_frames frames;
	assert_int_equal(symbolize_frame(s, &q, &frames), rc);
	return frames;
}

static void test_frames(void **state)
{
	(void)state;
	static const struct symbol_line lines[] = {
		{ .name = "_ZN1a1bEv", .file = "/src/a.cc", .line = 10 },
		{ .name = "inner.isra.0", .file = "/src/a.h", .line = 3, .column = 9 },
	};
	const struct symbol symbol = { .start = 0x100, .size = 0x50, .lines = lines, .count = 2 };
	CLEANUP(captured_symbols_free) struct captured_symbols *c = NULL;
	CLEANUP(symbolizer_free) struct symbolizer *s = NULL;
	assert_int_equal(captured_symbols_new(&c), 0);
	assert_int_equal(symbolizer_new(&s, c), 0);
	assert_int_equal(captured_symbols_add(c, 7, 0x120, &symbol), 0);
	assert_int_equal(captured_symbols_add(c, 7, 0x121, &symbol), 0);

	struct symbol_frames f = ask(s, 7, SYMBOLIZE_ELF, 0x120, "/lib/x.so", 1);
	assert_int_equal(f.count, 2);
	assert_int_equal(f.frames[0].kind, FRAME_CXX);
	assert_string_equal(f.frames[0].name, "a::b");
	assert_string_equal(f.frames[0].full, "_ZN1a1bEv");
	assert_string_equal(f.frames[0].file, "/src/a.cc");
	assert_string_equal(f.frames[0].module, "/lib/x.so");
	assert_int_equal(f.frames[0].line, 10);
	assert_int_equal(f.frames[1].kind, FRAME_NATIVE);
	assert_string_equal(f.frames[1].name, "inner");
	assert_string_equal(f.frames[1].full, "inner.isra.0");
	assert_int_equal(f.frames[1].line, 3);

	/* Equal texts are the same bytes, and live on. */
	const char *name = f.frames[0].name;
	f = ask(s, 7, SYMBOLIZE_ELF, 0x121, "/lib/x.so", 1);
	assert_ptr_equal(f.frames[0].name, name);

	/* The kernel's kind is the query's, not the name's. */
	f = ask(s, 7, SYMBOLIZE_KERNEL, 0x120, NULL, 1);
	assert_int_equal(f.frames[0].kind, FRAME_OS);
	assert_int_equal(f.frames[1].kind, FRAME_OS);
	assert_null(f.frames[0].module);
}

static void test_unnamed(void **state)
{
	(void)state;
	static const struct {
		enum symbolize_kind kind;
		const char *module, *name;
		enum frame_kind frame;
	} cases[] = {
		{ SYMBOLIZE_ELF, "/usr/lib/libtorch_cpu.so", "libtorch_cpu.so+0x1234",
		  FRAME_NATIVE },
		{ SYMBOLIZE_ELF, "a.out", "a.out+0x1234", FRAME_NATIVE },
		{ SYMBOLIZE_ELF, NULL, "[unknown]+0x1234", FRAME_NATIVE },
		{ SYMBOLIZE_ELF, "", "[unknown]+0x1234", FRAME_NATIVE },
		{ SYMBOLIZE_ELF, "/", "[unknown]+0x1234", FRAME_NATIVE },
		{ SYMBOLIZE_ANON, NULL, "[anon]+0x1234", FRAME_NATIVE },
		{ SYMBOLIZE_ANON, "[heap]", "[heap]+0x1234", FRAME_NATIVE },
		{ SYMBOLIZE_VDSO, NULL, "[vdso]+0x1234", FRAME_NATIVE },
		{ SYMBOLIZE_KERNEL, NULL, "[kernel]+0x1234", FRAME_OS },
	};
	CLEANUP(captured_symbols_free) struct captured_symbols *c = NULL;
	CLEANUP(symbolizer_free) struct symbolizer *s = NULL;
	assert_int_equal(captured_symbols_new(&c), 0);
	assert_int_equal(symbolizer_new(&s, c), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct symbol_frames f = ask(s, 1, cases[i].kind, 0x1234, cases[i].module, 0);
		assert_int_equal(f.count, 1);
		assert_string_equal(f.frames[0].name, cases[i].name);
		assert_int_equal(f.frames[0].kind, cases[i].frame);
		assert_int_equal(f.frames[0].line, 0);
	}
}

static void test_captured(void **state)
{
	(void)state;
	CLEANUP(captured_symbols_free) struct captured_symbols *c = NULL;
	CLEANUP(symbolizer_free) struct symbolizer *s = NULL;
	assert_int_equal(captured_symbols_new(&c), 0);
	assert_int_equal(symbolizer_new(&s, c), 0);
	struct symbol_line lines[] = {
		{ .name = "outer", .file = "a.c", .line = 5 },
		{ .name = "inner", .file = "a.h", .line = 6 },
	};
	char scratch[16] = "other";
	struct symbol_line one[] = { { .name = scratch } };
	struct symbol with_lines = { .start = 0x100, .size = 0x40, .lines = lines, .count = 2 };
	struct symbol without = { .start = 0x200, .size = 0, .lines = one, .count = 1 };
	assert_int_equal(captured_symbols_add(c, 3, 0x110, &with_lines), 0);
	assert_int_equal(captured_symbols_add(c, 3, 0x208, &without), 0);
	with_lines.count = 1;
	lines[0].line = 7;
	assert_int_equal(captured_symbols_add(c, 3, 0x118, &with_lines), 0);
	scratch[0] = 'X'; /* was copied */

	struct symbol_frames f = ask(s, 3, SYMBOLIZE_ELF, 0x110, "x", 1);
	assert_int_equal(f.count, 2);
	assert_int_equal(f.frames[0].line, 5);
	assert_string_equal(f.frames[1].name, "inner");
	f = ask(s, 3, SYMBOLIZE_ELF, 0x118, "x", 1);
	assert_int_equal(f.count, 1);
	assert_int_equal(f.frames[0].line, 7);
	f = ask(s, 3, SYMBOLIZE_ELF, 0x208, "x", 1);
	assert_string_equal(f.frames[0].name, "other");
	/* Inside a known function, but not a place that was asked about. */
	f = ask(s, 3, SYMBOLIZE_ELF, 0x13f, "x", 1);
	assert_int_equal(f.count, 1);
	assert_string_equal(f.frames[0].name, "outer");
	assert_int_equal(f.frames[0].line, 0);
	assert_null(f.frames[0].file);
	ask(s, 3, SYMBOLIZE_ELF, 0x140, "x", 0);
	ask(s, 3, SYMBOLIZE_ELF, 0xff, "x", 0);
	ask(s, 3, SYMBOLIZE_ELF, 0x209, "x", 0);
	ask(s, 4, SYMBOLIZE_ELF, 0x110, "x", 0);
	ask(s, 2, SYMBOLIZE_ELF, 0x110, "x", 0);

	/* The later one replaces; what was never named can be added still. */
	lines[0].line = 8;
	assert_int_equal(captured_symbols_add(c, 3, 0x110, &with_lines), 0);
	assert_int_equal(captured_symbols_add(c, 4, 0x110, &with_lines), 0);
	f = ask(s, 3, SYMBOLIZE_ELF, 0x110, "x", 1);
	assert_int_equal(f.count, 1);
	assert_int_equal(f.frames[0].line, 8);
	ask(s, 4, SYMBOLIZE_ELF, 0x112, "x", 1);
}

/* As many as a long recording has. */
static void test_captured_many(void **state)
{
	(void)state;
	CLEANUP(captured_symbols_free) struct captured_symbols *c = NULL;
	char name[32];
	assert_int_equal(captured_symbols_new(&c), 0);
	for (uint32_t i = 0; i < 100000; i++) {
		struct symbol_line line = { .name = name };
		struct symbol symbol = {
			.start = i / 10 * 160, .size = 160, .lines = &line, .count = 1
		};
		snprintf(name, sizeof(name), "f%u", i / 10);
		assert_int_equal(captured_symbols_add(c, i % 3, i * 16, &symbol), 0);
	}
	for (uint32_t i = 0; i < 100000; i += 7) {
		struct symbol symbol;
		snprintf(name, sizeof(name), "f%u", i / 10);
		assert_int_equal(captured_symbols_at(c, i % 3, i * 16, &symbol), 0);
		assert_string_equal(symbol.lines[0].name, name);
		assert_int_equal(captured_symbols_at(c, i % 3, i * 16 + 1, &symbol), 0);
		assert_string_equal(symbol.lines[0].name, name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_unnamed),
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_captured_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
