/* SPDX-License-Identifier: Apache-2.0 */
/* Stubs of real files, as objdump names them. */
#include "unit.h"

#include "elf/plt.h"
#include "elf/system_files.h"

#include <errno.h>

struct listing {
	struct elf_plt *plt;
	size_t named, indirect;
};

/* "000000000041f030 <initgroups@plt>:", "0000000000026010 <*ABS*+0x9f550@plt>:" */
static void check_stub(void *data, char *line)
{
	struct listing *l = data;
	char *name = strchr(line, '<'), *end = strstr(line, "@plt>:");
	struct elf_plt_stub stub;

	if (!name || !end)
		return;
	*end = '\0';
	uint64_t address = strtoul(line, NULL, 16);
	assert_int_equal(elf_plt_at(l->plt, address, &stub), 0);
	assert_int_equal(stub.start, address);
	if (!strncmp(name, "<*ABS*+", 7)) {
		assert_null(stub.name);
		assert_int_equal(stub.resolver, strtoul(name + 7, NULL, 16));
		l->indirect++;
	} else {
		assert_string_equal(stub.name, name + 1);
		l->named++;
	}
	struct elf_plt_stub last;
	assert_int_equal(elf_plt_at(l->plt, address + stub.size - 1, &last), 0);
	assert_int_equal(last.start, address);
}

static void compare(const char *path, struct listing *l)
{
	char command[PATH_MAX + 128];
	struct err err;
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	CLEANUP(elf_plt_free) struct elf_plt *plt = NULL;
	struct elf_section text;
	struct elf_plt_stub stub;

	assert_int_equal(elf_open_fd(&elf, fd, path, 0, &err), 0);
	assert_int_equal(elf_plt_new(&plt, elf, &err), 0);
	l->plt = plt;
	snprintf(command, sizeof(command),
		 "objdump -d -j .plt -j .plt.sec -j .plt.got '%s' 2>/dev/null || true", path);
	command_lines(command, check_stub, l);
	assert_int_equal(elf_section_find(elf, ".text", &text), 0);
	assert_int_equal(elf_plt_at(plt, text.addr, &stub), -ENOENT);
	assert_int_equal(elf_plt_at(plt, 0, &stub), -ENOENT);
	print_message("%s: %zu named, %zu indirect\n", path, l->named, l->indirect);
}

static void test_system_files(void **state)
{
	(void)state;
	size_t named = 0;
	for (size_t i = 0; i < ARRAY_SIZE(system_files); i++) {
		char buffer[PATH_MAX];
		const char *path = system_file_path(i, buffer);
		struct listing l = { 0 };
		if (path)
			compare(path, &l);
		named += l.named;
	}
	assert_true(named > 100);
}

/* The kinds of stub that compilers and linkers make on request. */
static void test_kinds(void **state)
{
	(void)state;
	static const char *const options[] = {
		"-Wl,-z,lazy",
		"-Wl,-z,now",
		"-Wl,-z,now -fcf-protection=full -Wl,-z,ibtplt",
		"-Wl,-z,lazy -fcf-protection=full -Wl,-z,ibtplt",
		"-fuse-ld=gold",
		"-fuse-ld=lld",
	};
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		char dir[] = "/tmp/accel-prof-test-XXXXXX", text[1024], path[64];
		struct listing l = { 0 };
		assert_non_null(mkdtemp(dir));
		snprintf(text, sizeof(text),
			 "cd %s && printf '#include <stdio.h>\n#include <stdlib.h>\n"
			 "void *p = free; int f(char *s) { if (!s) abort(); puts(s); free(s); "
			 "return atoi(s) + 1; }\n' > x.c && gcc -O1 -shared -fPIC %s x.c -o x.so "
			 "2>/dev/null",
			 dir, options[i]);
		bool is_made = system(text) == 0; /* NOLINT(cert-env33-c) */
		snprintf(path, sizeof(path), "%s/x.so", dir);
		if (is_made)
			compare(path, &l);
		snprintf(text, sizeof(text), "rm -r %s", dir);
		assert_int_equal(system(text), 0); /* NOLINT(cert-env33-c) */
		if (!is_made)
			print_message("not here: %s\n", options[i]);
		else
			assert_true(l.named >= 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_system_files),
		cmocka_unit_test(test_kinds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
