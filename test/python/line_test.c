/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables: by hand from the formats' descriptions, and of whole standard libraries, about which
 * each interpreter is asked itself (oracle.py). */
#include "unit.h"

#include "base/io.h"
#include "python/line.h"

#include "python/interpreters.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static uint32_t line_at(enum python_lines_kind kind, const char *bytes, size_t size, int64_t offset)
{
	CLEANUP(python_lines_release) struct python_lines lines = { 0 };
	struct err err;

	assert_int_equal(python_lines_read(&lines, kind, span_of(bytes, size), 10, &err), 0);
	return python_lines_at(&lines, offset);
}

static void test_lnotab(void **state)
{
	/* 6 bytes of line 10, then line 11; 50 bytes later line 361 (127 + 127 + 96); then back. */
	static const char table[] = "\x06\x01\x32\x7f\x00\x7f\x00\x60\x02\xfd";
	const size_t size = sizeof(table) - 1;

	(void)state;
	assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, size, -1), 10);
	assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, size, 0), 10);
	assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, size, 5), 10);
	assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, size, 6), 11);
	assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, size, 55), 11);
	assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, size, 56), 361);
	assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, size, 58), 358);
	assert_int_equal(line_at(PYTHON_LINES_LNOTAB, "", 0, 4), 10);
}

static void test_table(void **state)
{
	/* PEP 626: 4 bytes of line 10, 6 of 12, 2 of none, 8 of 11. */
	static const char table[] = "\x04\x00\x06\x02\x02\x80\x08\xff";
	const size_t size = sizeof(table) - 1;

	(void)state;
	assert_int_equal(line_at(PYTHON_LINES_TABLE, table, size, -2), 10);
	assert_int_equal(line_at(PYTHON_LINES_TABLE, table, size, 0), 10);
	assert_int_equal(line_at(PYTHON_LINES_TABLE, table, size, 4), 12);
	assert_int_equal(line_at(PYTHON_LINES_TABLE, table, size, 9), 12);
	assert_int_equal(line_at(PYTHON_LINES_TABLE, table, size, 10), 0);
	assert_int_equal(line_at(PYTHON_LINES_TABLE, table, size, 12), 11);
}

static void test_location(void **state)
{
	/*
	 * locations.md: short form 3, 1 unit; one line form +2, 2 units; no columns, +64 as a signed
	 * varint (128: 0x40, 2), 8 units; none, 1 unit; long form, -1 (3), end line +0, columns.
	 */
	static const char table[] = "\x98\x21"
				    "\xe1\x05\x09"
				    "\xef\x40\x02"
				    "\xf8"
				    "\xf0\x03\x00\x01\x02";
	const size_t size = sizeof(table) - 1;

	(void)state;
	assert_int_equal(line_at(PYTHON_LINES_LOCATION, table, size, -2), 10);
	assert_int_equal(line_at(PYTHON_LINES_LOCATION, table, size, 0), 10);
	assert_int_equal(line_at(PYTHON_LINES_LOCATION, table, size, 2), 12);
	assert_int_equal(line_at(PYTHON_LINES_LOCATION, table, size, 6), 76);
	assert_int_equal(line_at(PYTHON_LINES_LOCATION, table, size, 21), 76);
	assert_int_equal(line_at(PYTHON_LINES_LOCATION, table, size, 22), 0);
	assert_int_equal(line_at(PYTHON_LINES_LOCATION, table, size, 24), 75);
}

static void test_hostile(void **state)
{
	static const char *const bad[] = { "\x21", "\xe8\x7f\x7f\x7f\x7f\x7f\x7f\x7f", "\xf0" };
	struct python_lines lines = { 0 };
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(python_lines_read(&lines, PYTHON_LINES_LOCATION,
						   span_of(bad[i], strlen(bad[i])), 1, &err),
				 -EBADMSG);
	python_lines_release(&lines);
	/* Lines before the first. */
	assert_int_equal(
		python_lines_read(&lines, PYTHON_LINES_LNOTAB, span_of("\x02\x80", 2), 1, &err),
		-EBADMSG);
}

static uint32_t take_u32(struct cursor *c)
{
	uint32_t value;

	assert_int_equal(cursor_u32(c, &value, NULL), 0);
	return value;
}

static enum python_lines_kind kind_of(const char *python)
{
	char command[600];

	snprintf(command, sizeof(command), "exec %s -c 'import sys; sys.exit(sys.version_info[1])'",
		 python);
	int minor = system(command) >> 8;
	return minor >= 11   ? PYTHON_LINES_LOCATION
	       : minor == 10 ? PYTHON_LINES_TABLE
			     : PYTHON_LINES_LNOTAB;
}

/* A sixth of the standard library by default, as compiling it takes long; the whole of it is
 * ACCEL_PROF_FULL. */
#define FILES (getenv("ACCEL_PROF_FULL") ? "100000" : "120")

static void check_library(const char *python)
{
	CLEANUP_FREE char *data = NULL;
	char command[1200];
	uint32_t codes = 0, lines = 0;
	size_t size;

	snprintf(command, sizeof(command),
		 "exec %s -B -W ignore " TEST_SOURCE_DIR "/python/oracle.py " TEST_BINARY_DIR
		 "/python_lines %s",
		 python, FILES);
	assert_int_equal(system(command), 0);
	assert_int_equal(io_read_file(TEST_BINARY_DIR "/python_lines", 1u << 30, &data, &size), 0);
	enum python_lines_kind kind = kind_of(python);
	struct cursor c = cursor_of(span_of(data, size), "oracle");
	while (cursor_left(&c)) {
		CLEANUP(python_lines_release) struct python_lines table = { 0 };
		uint32_t first = take_u32(&c);
		struct span bytes;
		struct err err;
		assert_int_equal(cursor_bytes(&c, take_u32(&c), &bytes, NULL), 0);
		assert_int_equal(python_lines_read(&table, kind, bytes, first, &err), 0);
		for (uint32_t count = take_u32(&c); count; count--) {
			uint32_t offset = take_u32(&c);
			assert_int_equal(python_lines_at(&table, offset), take_u32(&c));
			lines++;
		}
		codes++;
	}
	print_message("%s: %u code objects, %u places\n", python, codes, lines);
	assert_true(codes > 1000);
	unlink(TEST_BINARY_DIR "/python_lines");
}

static void test_libraries(void **state)
{
	(void)state;
	if (!each_interpreter(check_library))
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lnotab),    cmocka_unit_test(test_table),
		cmocka_unit_test(test_location),  cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_libraries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
