/* SPDX-License-Identifier: Apache-2.0 */
/* Interpreters in files, and files without. What is expected comes from nm and from the headers that
 * the interpreters were compiled with. */
#include "unit.h"

#include "python/find.h"
#include "python/offsets.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

static int find_in(const char *path, struct python_binary *ret)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	struct err err;

	assert_true(fd >= 0);
	assert_int_equal(elf_open_fd(&elf, fd, path, 0, &err), 0);
	return python_binary_find(ret, elf, &err);
}

static const char *library(unsigned minor)
{
	static char path[512];
	char pattern[600];
	glob_t found = { 0 };

	snprintf(pattern, sizeof(pattern), "%s/.pyenv/versions/3.%u.*/lib/libpython3.%u.so.1.0",
		 getenv("HOME"), minor, minor);
	bool is_there = glob(pattern, 0, NULL, &found) == 0;
	if (is_there)
		snprintf(path, sizeof(path), "%s", found.gl_pathv[0]);
	globfree(&found);
	return is_there ? path : NULL;
}

/* Each range that nm names is a range here. */
static void check_symbols(const char *path, const struct python_binary *binary)
{
	char command[600], line[512], name[256];
	unsigned long address, size;
	char type;
	unsigned count = 0;

	snprintf(command, sizeof(command), "nm -S %s", path);
	FILE *nm = popen(command, "r");
	assert_non_null(nm);
	while (fgets(line, sizeof(line), nm)) {
		if (sscanf(line, "%lx %lx %c %255s", &address, &size, &type, name) != 4 ||
		    strncmp(name, "_PyEval_EvalFrameDefault", 24) != 0)
			continue;
		assert_non_null(python_binary_loop(binary, address));
		assert_non_null(python_binary_loop(binary, address + size - 1));
		assert_null(python_binary_loop(binary, address - 1));
		count++;
	}
	pclose(nm);
	assert_true(count >= 1);
	assert_int_equal(count, binary->loops.len);
}

static void test_libraries(void **state)
{
	unsigned count = 0;

	(void)state;
	for (unsigned minor = 8; minor <= 14; minor++) {
		CLEANUP(python_binary_release) struct python_binary binary = { 0 };
		const char *path = library(minor);
		if (!path)
			continue;
		assert_int_equal(find_in(path, &binary), 1);
		assert_int_equal(binary.layout.version >> 16, 0x0300 | minor);
		assert_true(binary.runtime && binary.code_type);
		check_symbols(path, &binary);
		count++;
	}
	if (!count)
		skip();
}

/* The same file with and without its symbols: the part that was moved away is found. */
static void test_cold(void **state)
{
	static const char stripped[] = TEST_BINARY_DIR "/python_stripped";
	unsigned count = 0;

	(void)state;
	for (unsigned minor = 8; minor <= 14; minor++) {
		CLEANUP(python_binary_release) struct python_binary whole = { 0 }, binary = { 0 };
		const char *path = library(minor);
		char command[1200];
		if (!path)
			continue;
		snprintf(command, sizeof(command), "strip -o %s %s", stripped, path);
		assert_int_equal(system(command), 0);
		assert_int_equal(find_in(path, &whole), 1);
		assert_int_equal(find_in(stripped, &binary), 1);
		for (size_t i = 0, k = 0; i < whole.loops.len; i++) {
			const struct python_range *range = &whole.loops.data[i];
			/* A few bytes that trap, and are never executed. */
			if (range->end - range->start < 16)
				continue;
			assert_true(k < binary.loops.len);
			/* Functions are known by where the next one begins. */
			assert_int_equal(range->start, binary.loops.data[k].start);
			assert_in_range(binary.loops.data[k].end - range->end, 0, 32);
			k++;
		}
		print_message("3.%u: %zu parts\n", minor, binary.loops.len);
		count++;
		unlink(stripped);
	}
	if (!count)
		skip();
}

static void test_others(void **state)
{
	static const char *const none[] = { "/bin/sh", "/lib/x86_64-linux-gnu/libc.so.6" };
	struct python_binary binary;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		if (access(none[i], R_OK) == 0)
			assert_int_equal(find_in(none[i], &binary), 0);
	}
}

static void put(uint8_t *bytes, size_t at, uint64_t value)
{
	memcpy(bytes + at, &value, sizeof(value));
}

static void test_debug_offsets(void **state)
{
	uint8_t bytes[PYTHON_DEBUG_OFFSETS_BYTES] = "xdebugpy";
	struct python_layout layout;
	struct err err;

	(void)state;
	for (size_t at = 24; at < sizeof(bytes); at += 8)
		put(bytes, at, 4096);
	/* Newer than what is known. */
	put(bytes, 8, 0x030f00f0);
	assert_int_equal(python_layout_parse(&layout, span_of(bytes, sizeof(bytes)), &err),
			 -ENOTSUP);
	/* Members at the very end of their structs. */
	put(bytes, 8, 0x030d00f0);
	assert_int_equal(python_layout_parse(&layout, span_of(bytes, sizeof(bytes)), &err),
			 -EBADMSG);
	assert_int_equal(python_layout_parse(&layout, span_of(bytes, 100), &err), -EBADMSG);
	assert_int_equal(python_layout_known(&layout, 0x03070000, &err), -ENOTSUP);
	assert_int_equal(python_layout_known(&layout, 0x030c01f0, &err), 0);
	assert_int_equal(layout.version, 0x030c01f0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_cold),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_debug_offsets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
