/* SPDX-License-Identifier: Apache-2.0 */
/* The table of fields agrees with record.h, and FORMAT.md with the table. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/strbuf.h"
#include "capture/field.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define CAPTURE_DIR TEST_SOURCE_DIR "/../lib/capture/"

/* A test's input is a few pages: in a buffer that outlives the test. */
static char text[256 << 10];

static void read_text(const char *name)
{
	CLEANUP_FREE char *data = NULL;
	size_t size;
	assert_int_equal(io_read_file(name, sizeof(text) - 1, &data, &size), 0);
	memcpy(text, data, size + 1);
}

/* Comments and newlines become blanks. */
static void strip_comments(void)
{
	for (char *p; (p = strstr(text, "/*"));) {
		char *end = strstr(p, "*/");
		assert_non_null(end);
		memset(p, ' ', (size_t)(end + 2 - p));
	}
	for (char *p = text; *p; p++) {
		if (isspace((unsigned char)*p))
			*p = ' ';
	}
}

static const struct field *find_field(const struct record_layout *layout, const char *name,
				      size_t size)
{
	for (size_t i = 0; i < layout->count; i++) {
		if (strlen(layout->fields[i].name) == size &&
		    !strncmp(layout->fields[i].name, name, size))
			return &layout->fields[i];
	}
	return NULL;
}

/* How many frames or lines there are, and what a stack shares, is part of that field. */
static bool is_part_of_field(const struct record_layout *layout, const char *name, size_t size)
{
	static const char *const parts[] = { "count", "parent", "kept", "above", "first" };
	bool is_stack = layout == record_layout(RECORD_STACK);
	size_t known = is_stack ? ARRAY_SIZE(parts) : layout == record_layout(RECORD_SYMBOL);

	for (size_t i = 0; i < known; i++) {
		if (strlen(parts[i]) == size && !memcmp(parts[i], name, size))
			return true;
	}
	return false;
}

/* The members of "uint32_t a, b[3];" and "const struct x *c;" up to the closing brace. */
static size_t check_members(const struct record_layout *layout, const char *body)
{
	size_t members = 0;
	for (; *body != '}'; body++) {
		if (*body != ';' && *body != ',')
			continue;
		const char *end = body;
		if (end[-1] == ']') {
			while (*end != '[')
				end--;
		}
		const char *start = end;
		while (isalnum((unsigned char)start[-1]) || start[-1] == '_')
			start--;
		size_t size = (size_t)(end - start);
		if (is_part_of_field(layout, start, size))
			continue;
		if (!find_field(layout, start, size))
			fail_msg("%s: no '%.*s' in the table", layout->name, (int)size, start);
		members++;
	}
	return members;
}

static void test_table_has_every_member(void **state)
{
	(void)state;
	read_text(CAPTURE_DIR "record.h");
	strip_comments();
	for (unsigned type = 1; type < RECORD_TYPE_COUNT; type++) {
		const struct record_layout *layout = record_layout(type);
		char start[64];
		assert_non_null(layout);
		int n = snprintf(start, sizeof(start), "struct record_%s {", layout->name);
		for (int i = 0; i < n; i++)
			start[i] = (char)tolower((unsigned char)start[i]);
		const char *body = strstr(text, start);
		assert_non_null(body);
		assert_int_equal(check_members(layout, body), layout->count);
	}
	assert_null(record_layout(0));
	assert_null(record_layout(RECORD_TYPE_COUNT));
	assert_null(record_layout(255));
}

/* "### 10 CPU_SAMPLE", and below it a line "| `name` | ..." for each field, in its order. */
static void test_format_names_every_field(void **state)
{
	(void)state;
	read_text(CAPTURE_DIR "FORMAT.md");
	for (unsigned type = 1; type < RECORD_TYPE_COUNT; type++) {
		const struct record_layout *layout = record_layout(type);
		char head[64];
		snprintf(head, sizeof(head), "\n### %u %s\n", type, layout->name);
		const char *at = strstr(text, head);
		if (!at)
			fail_msg("FORMAT.md lacks '%s'", head);
		const char *section_end = strstr(at + 1, "\n##");
		for (size_t i = 0; i < layout->count; i++) {
			char row[64];
			snprintf(row, sizeof(row), "\n| `%s` |", layout->fields[i].name);
			at = strstr(at, row);
			if (!at || (section_end && at > section_end))
				fail_msg("FORMAT.md: %s lacks '%s', or has it out of order",
					 layout->name, row);
		}
		const char *more = strstr(at + 1, "\n| `");
		assert_true(!more || (section_end && more > section_end));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_has_every_member),
		cmocka_unit_test(test_format_names_every_field),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
