/* SPDX-License-Identifier: Apache-2.0 */
/* What files say of their debug files, as objcopy and strip write it; test/worker finds them. */
#include "unit.h"

#include "elf/debug.h"
#include "elf/system_files.h"

#include <errno.h>

struct pair {
	int fd, debug_fd;
	struct elf_file *elf, *debug;
};

/* x.so and x.debug out of one small library, by @command run in a folder with both. */
static void make_pair(const char *command, struct pair *ret)
{
	char dir[] = "/tmp/accel-prof-test-XXXXXX", text[2 * PATH_MAX], path[64];
	struct err err;

	assert_non_null(mkdtemp(dir));
	snprintf(text, sizeof(text),
		 "cd %s && cp '%s/fuzz/corpus/elf/symtab.so' x.so && "
		 "objcopy --only-keep-debug x.so x.debug && %s",
		 dir, TEST_SOURCE_DIR, command);
	assert_int_equal(system(text), 0); /* NOLINT(cert-env33-c) */
	snprintf(path, sizeof(path), "%s/x.so", dir);
	ret->fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_open_fd(&ret->elf, ret->fd, "x.so", 0, &err), 0);
	snprintf(path, sizeof(path), "%s/x.debug", dir);
	ret->debug_fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_open_fd(&ret->debug, ret->debug_fd, "x.debug", 0, &err), 0);
	snprintf(text, sizeof(text), "rm -r %s", dir);
	assert_int_equal(system(text), 0); /* NOLINT(cert-env33-c) */
}

static void drop_pair(struct pair *p)
{
	elf_close(p->elf);
	elf_close(p->debug);
	close(p->fd);
	close(p->debug_fd);
}

static void test_link(void **state)
{
	(void)state;
	static const struct {
		const char *command;
		const char *name; /* NULL: none */
		bool is_match;
	} cases[] = {
		{ "strip x.so && objcopy --add-gnu-debuglink=x.debug x.so", "x.debug", true },
		/* Without a link, by build-id. */
		{ "strip x.so", NULL, true },
		/* Without a build-id, by CRC. */
		{ "objcopy -R .note.gnu.build-id x.debug && strip -R .note.gnu.build-id x.so && "
		  "objcopy --add-gnu-debuglink=x.debug x.so",
		  "x.debug", true },
		{ "objcopy -R .note.gnu.build-id x.debug && strip -R .note.gnu.build-id x.so && "
		  "objcopy --add-gnu-debuglink=x.debug x.so && echo >> x.debug",
		  "x.debug", false },
		{ "strip -R .note.gnu.build-id x.so", NULL, false },
		/* Made by hand. */
		{ "printf '../evil\\0CRC4' > l && objcopy --add-section .gnu_debuglink=l x.so",
		  NULL, true },
		{ "printf '..\\0\\0CRC4' > l && objcopy --add-section .gnu_debuglink=l x.so", NULL,
		  true },
		{ "printf 'no.end' > l && objcopy --add-section .gnu_debuglink=l x.so", NULL,
		  true },
		{ "printf 'no.crc\\0\\0CR' > l && objcopy --add-section .gnu_debuglink=l x.so",
		  NULL, true },
		{ "printf 'a\\0\\0\\0CRC4' > l && objcopy --add-section .gnu_debuglink=l x.so", "a",
		  true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pair p;
		struct elf_debug_link link;
		make_pair(cases[i].command, &p);
		assert_int_equal(elf_debug_link(p.elf, &link), cases[i].name ? 0 : -ENOENT);
		if (cases[i].name)
			assert_string_equal(link.name, cases[i].name);
		assert_int_equal(elf_debug_matches(p.elf, p.debug), cases[i].is_match);
		drop_pair(&p);
	}
}

/* gdb's manual: "Debugging Information in Separate Files". */
static void test_build_id_path(void **state)
{
	(void)state;
	struct elf_build_id id = { .bytes = { 0xab, 0xcd, 0xef, 0x01 }, .size = 4 };
	char path[ELF_BUILD_ID_PATH_BYTES];

	elf_build_id_path(&id, path);
	assert_string_equal(path, "/usr/lib/debug/.build-id/ab/cdef01.debug");
	memset(id.bytes, 0xff, sizeof(id.bytes));
	id.size = ELF_BUILD_ID_MAX;
	elf_build_id_path(&id, path);
	assert_int_equal(strlen(path), ELF_BUILD_ID_PATH_BYTES - 1);
}

static void test_alt(void **state)
{
	(void)state;
	struct pair p;
	struct elf_debug_alt alt;

	make_pair("printf '/usr/lib/debug/.dwz/x\\0\\001\\002\\003' > l && "
		  "objcopy --add-section .gnu_debugaltlink=l x.so",
		  &p);
	assert_int_equal(elf_debug_alt(p.elf, &alt), 0);
	assert_string_equal(alt.path, "/usr/lib/debug/.dwz/x");
	assert_int_equal(alt.build_id.size, 3);
	assert_int_equal(alt.build_id.bytes[2], 3);
	assert_int_equal(elf_debug_alt(p.debug, &alt), -ENOENT);
	drop_pair(&p);
	make_pair("printf '/no/build-id\\0' > l && objcopy --add-section .gnu_debugaltlink=l x.so",
		  &p);
	assert_int_equal(elf_debug_alt(p.elf, &alt), -ENOENT);
	drop_pair(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_build_id_path),
		cmocka_unit_test(test_alt),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
