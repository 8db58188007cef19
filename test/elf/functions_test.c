/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions begin by .eh_frame_hdr, compared with the symbol tables of real files. */
#include "unit.h"

#include "elf/functions.h"
#include "elf/symtab.h"
#include "elf/system_files.h"

#include <elf.h>
#include <errno.h>

static void test_like_symbols(void **state)
{
	(void)state;
	unsigned files = 0;

	for (size_t i = 0; i < ARRAY_SIZE(system_files); i++) {
		char buffer[PATH_MAX];
		const char *path = system_file_path(i, buffer);
		struct err err;
		struct elf_section text;
		if (!path)
			continue;
		CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
		CLEANUP(elf_close) struct elf_file *elf = NULL;
		CLEANUP(elf_symtab_free) struct elf_symtab *t = NULL;
		CLEANUP(elf_functions_free) struct elf_functions *functions = NULL;
		assert_int_equal(elf_open_fd(&elf, fd, path, 0, &err), 0);
		assert_int_equal(elf_symtab_new(&t, elf, &err), 0);
		assert_int_equal(elf_functions_new(&functions, elf, &err), 0);
		assert_int_equal(elf_section_find(elf, ".text", &text), 0);

		size_t checked = 0, begin = 0;
		for (size_t n = 0; n < elf_symtab_count(t); n++) {
			struct elf_symbol s = elf_symtab_get(t, n);
			uint64_t start, end, last_start, last_end;
			if (s.type != STT_FUNC || !s.size || s.section != text.index)
				continue;
			checked++;
			if (elf_functions_at(functions, s.value, &start, &end) < 0 ||
			    start != s.value)
				continue;
			/* The first and the last byte are of one function. */
			assert_int_equal(elf_functions_at(functions, s.value + s.size - 1,
							  &last_start, &last_end),
					 0);
			begin += last_start == start && last_end == end;
		}
		print_message("%s: %zu functions, %zu symbols, %zu agree\n", path,
			      elf_functions_count(functions), checked, begin);
		/* Assembly has symbols and no entries, or several entries. */
		assert_true(begin >= checked - checked / 20);
		files += checked > 0;
	}
	assert_true(files >= 4);
}

static void test_outside(void **state)
{
	(void)state;
	struct err err;
	CLEANUP_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	CLEANUP(elf_functions_free) struct elf_functions *functions = NULL;
	struct elf_section text, data;
	uint64_t start, end;
	assert_int_equal(elf_open_fd(&elf, fd, "self", 0, &err), 0);
	assert_int_equal(elf_functions_new(&functions, elf, &err), 0);
	assert_int_equal(elf_section_find(elf, ".text", &text), 0);
	assert_int_equal(elf_section_find(elf, ".data", &data), 0);

	assert_int_equal(elf_functions_at(functions, 0, &start, &end), -ENOENT);
	assert_int_equal(elf_functions_at(functions, data.addr, &start, &end), -ENOENT);
	assert_int_equal(elf_functions_at(functions, UINT64_MAX, &start, &end), -ENOENT);
	/* The last function ends with its section. */
	uint64_t last = text.addr + text.size - 1;
	assert_int_equal(elf_functions_at(functions, last, &start, &end), 0);
	assert_int_equal(end, text.addr + text.size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_symbols),
		cmocka_unit_test(test_outside),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
