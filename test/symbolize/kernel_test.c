/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/io.h"
#include "symbolize/kernel.h"

#include <errno.h>
#include <string.h>

static const char text[] = "ffffffff81000000 T _text\n"
			   "ffffffff81000000 T startup_64\n"
			   "ffffffff81000040 t local_one\n"
			   "ffffffff81000040 W weak_one\n"
			   "ffffffff81000100 T next\n"
			   "ffffffff81000180 D data_is_not_code\n"
			   "0000000000015000 A cpu_number\n"
			   "ffffffffc0200000 t first_in_module\t[nvidia]\n"
			   "ffffffffc0200100 t last_in_module\t[nvidia]\n"
			   "ffffffffc0300000 t other\t[i915]\n";

static struct kernel_symbols *load(const char *kallsyms, int rc)
{
	struct kernel_symbols *k = NULL;
	struct err err;
	assert_int_equal(kernel_symbols_new(&k, span_of(kallsyms, strlen(kallsyms)), &err), rc);
	if (rc == -EPERM)
		assert_non_null(strstr(err.text, "kptr_restrict"));
	return k;
}

static void test_lookup(void **state)
{
	(void)state;
	static const struct {
		uint64_t address;
		const char *name, *module;
		uint64_t size;
	} cases[] = {
		{ 0x15000, NULL, NULL, 0 },
		{ 0xffffffff80ffffff, NULL, NULL, 0 },
		{ 0xffffffff81000000, "_text", NULL, 0x40 },
		{ 0xffffffff8100003f, "_text", NULL, 0x40 },
		{ 0xffffffff81000040, "weak_one", NULL, 0xc0 },
		{ 0xffffffff81000180, "next", NULL, KERNEL_SYMBOL_GUESS_BYTES },
		{ 0xffffffff810010ff, "next", NULL, KERNEL_SYMBOL_GUESS_BYTES },
		{ 0xffffffff81001100, NULL, NULL, 0 },
		{ 0xffffffffc0200020, "first_in_module", "nvidia", 0x100 },
		{ 0xffffffffc0200fff, "last_in_module", "nvidia", KERNEL_SYMBOL_GUESS_BYTES },
		{ 0xffffffffc0201100, NULL, NULL, 0 },
		{ 0xffffffffc0300000, "other", "i915", KERNEL_SYMBOL_GUESS_BYTES },
		{ UINT64_MAX, NULL, NULL, 0 },
	};
	CLEANUP(kernel_symbols_free) struct kernel_symbols *k = load(text, 0);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kernel_symbol s;
		int rc = kernel_symbols_at(k, cases[i].address, &s);
		assert_int_equal(rc, cases[i].name ? 0 : -ENOENT);
		if (rc < 0)
			continue;
		assert_string_equal(s.name, cases[i].name);
		assert_int_equal(s.size, cases[i].size);
		assert_int_equal(!s.module, !cases[i].module);
		if (s.module)
			assert_string_equal(s.module, cases[i].module);
	}
}

static void test_hidden(void **state)
{
	(void)state;
	assert_null(load("0000000000000000 T _text\n0000000000000000 t next\n", -EPERM));
	assert_null(load("this is not it\n", -EBADMSG));
	CLEANUP(kernel_symbols_free) struct kernel_symbols *k = load("", 0);
	struct kernel_symbol s;
	assert_int_equal(kernel_symbols_at(k, 0xffffffff81000000, &s), -ENOENT);
}

/* This machine's own, where it may be read: every text symbol's address finds a symbol that starts there. */
static void test_this_kernel(void **state)
{
	(void)state;
	CLEANUP_FREE char *kallsyms = NULL;
	size_t size;
	struct err err;
	CLEANUP(kernel_symbols_free) struct kernel_symbols *k = NULL;

	if (io_read_file("/proc/kallsyms", 64 << 20, &kallsyms, &size) < 0)
		skip();
	int rc = kernel_symbols_new(&k, span_of(kallsyms, size), &err);
	if (rc == -EPERM) {
		print_message("%s\n", err.text);
		skip();
	}
	assert_int_equal(rc, 0);
	size_t checked = 0;
	for (char *line = strtok(kallsyms, "\n"); line; line = strtok(NULL, "\n")) {
		char *end;
		uint64_t address = strtoul(line, &end, 16);
		struct kernel_symbol s;
		if (end[1] != 'T' && end[1] != 't')
			continue;
		assert_int_equal(kernel_symbols_at(k, address, &s), 0);
		assert_int_equal(s.start, address);
		checked++;
	}
	print_message("%zu symbols, %zu addresses\n", checked, kernel_symbols_count(k));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookup),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_this_kernel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
