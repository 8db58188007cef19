/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of real files compared with readelf and llvm-symbolizer; nesting and guessing on made ones. */
#include "unit.h"

#include "elf/symtab.h"
#include "elf/system_files.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

struct listing {
	struct elf_symtab *symtab;
	size_t next;
};

/* "  12: 0000000000028490   38 FUNC  GLOBAL DEFAULT  16 memcpy@@GLIBC_2.14 [other]" */
static void check_symbol(void *data, char *line)
{
	struct listing *l = data;
	unsigned long value;
	char size[32], type[16], bind[16], visibility[16], section[16], *name;
	int at = 0;

	if (sscanf(line, " %*u: %lx %31s %15s %15s %15s %15s %n", &value, size, type, bind,
		   visibility, section, &at) != 6 ||
	    !at)
		return;
	bool is_function = !strcmp(type, "FUNC") || !strcmp(type, "IFUNC");
	if ((!is_function && strcmp(type, "OBJECT") != 0) || !strcmp(section, "UND"))
		return;
	if (!strcmp(section, "ABS") && !strcmp(size, "0")) /* defines a version */
		return;
	name = line + at;
	if (*name == '[') /* st_other, which readelf puts before the name */
		name = strchr(name, ']') + 2;
	/* "stdin@GLIBC_2.2.5 (2)": a copy of another library's variable, with that one's version. */
	if (name[strlen(name) - 1] == ')')
		*strchr(name, '@') = '\0';
	struct elf_symbol s;
	do
		s = elf_symtab_get(l->symtab, l->next++);
	while (s.type == STT_NOTYPE);

	char full[4096];
	snprintf(full, sizeof(full), "%s%s%s", s.name,
		 !s.version     ? ""
		 : s.is_default ? "@@"
				: "@",
		 s.version ? s.version : "");
	assert_string_equal(full, name);
	assert_int_equal(s.value, value);
	assert_int_equal(s.size, strtoul(size, NULL, 0));
	assert_int_equal(s.bind == STB_GLOBAL, !strcmp(bind, "GLOBAL"));

	struct elf_symbol by_name;
	assert_int_equal(elf_symtab_find(l->symtab, full, &by_name), 0);
	assert_string_equal(by_name.name, s.name);
	if (s.bind != STB_LOCAL)
		assert_int_equal(by_name.value, s.value);
}

static void test_like_readelf(void **state)
{
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(system_files); i++) {
		char buffer[PATH_MAX], command[PATH_MAX + 64];
		const char *path = system_file_path(i, buffer);
		if (!path)
			continue;
		CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
		struct err err;
		CLEANUP(elf_close) struct elf_file *elf = NULL;
		assert_int_equal(elf_open_fd(&elf, fd, path, i % 2 ? ELF_OPEN_MAP : 0, &err), 0);
		CLEANUP(elf_symtab_free) struct elf_symtab *t = NULL;
		assert_int_equal(elf_symtab_new(&t, elf, &err), 0);
		/* Only this one has a .symtab. */
		snprintf(command, sizeof(command), "readelf -W %s '%s' 2>/dev/null",
			 i ? "--dyn-syms" : "-s", path);
		if (!i)
			snprintf(command, sizeof(command),
				 "readelf -W -s '%s' | sed '1,/table .\\.symtab/d'", path);
		struct listing l = { .symtab = t };
		assert_true(command_lines(command, check_symbol, &l) > 0);
		while (l.next < elf_symtab_count(t) && elf_symtab_get(t, l.next).type == STT_NOTYPE)
			l.next++;
		assert_int_equal(l.next, elf_symtab_count(t));
		print_message("%s: %zu symbols\n", path, l.next);
	}
}

struct lookup {
	struct elf_symtab *symtab;
	uint64_t *addresses;
	size_t next, agree, count;
	bool is_name; /* llvm-symbolizer prints name, place and an empty line */
	unsigned line;
};

static void check_lookup(void *data, char *line)
{
	struct lookup *l = data;
	struct elf_symbol ours, theirs;

	if (l->line++ % 3)
		return;
	uint64_t address = l->addresses[l->next++];
	bool is_found = elf_symtab_at(l->symtab, address, &ours) == 0;
	if (!strcmp(line, "??")) {
		l->agree += !is_found;
		return;
	}
	/* Another name of the same function is as good. */
	if (is_found && elf_symtab_find(l->symtab, line, &theirs) == 0)
		l->agree += theirs.value == ours.value || !strcmp(ours.name, line);
}

#define LOOKUPS 3000

/* Addresses all over the text of real files. llvm-symbolizer respects sizes, as we do; it differs
 * where symbols without a size are (it lets them reach to the next symbol) and where they nest. */
static void test_at_like_llvm(void **state)
{
	(void)state;
	unsigned files = 0;

	if (system("llvm-symbolizer --version > /dev/null 2>&1") != 0) { /* NOLINT */
		print_message("no llvm-symbolizer\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(system_files); i++) {
		char buffer[PATH_MAX], input[PATH_MAX], command[3 * PATH_MAX];
		const char *path = system_file_path(i, buffer);
		if (!path)
			continue;
		CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
		struct err err;
		CLEANUP(elf_close) struct elf_file *elf = NULL;
		assert_int_equal(elf_open_fd(&elf, fd, path, 0, &err), 0);
		CLEANUP(elf_symtab_free) struct elf_symtab *t = NULL;
		assert_int_equal(elf_symtab_new(&t, elf, &err), 0);
		struct elf_section text;
		assert_int_equal(elf_section_find(elf, ".text", &text), 0);

		snprintf(input, sizeof(input), "%s/symtab_test.%d", TEST_BINARY_DIR, getpid());
		FILE *out = fopen(input, "we");
		assert_non_null(out);
		uint64_t addresses[LOOKUPS];
		for (size_t n = 0; n < LOOKUPS; n++) {
			addresses[n] = text.addr + text.size / LOOKUPS * n;
			fprintf(out, "0x%lx\n", addresses[n]);
		}
		fclose(out);
		snprintf(
			command, sizeof(command),
			"llvm-symbolizer --debug-file-directory=/nonexistent --no-inlines --no-demangle "
			"--obj='%s' < '%s'",
			path, input);
		struct lookup l = { .symtab = t, .addresses = addresses };
		assert_true(command_lines(command, check_lookup, &l) > 0);
		unlink(input);
		assert_int_equal(l.next, LOOKUPS);
		print_message("%s: %zu of %zu agree\n", path, l.agree, l.next);
		assert_true(l.agree >= LOOKUPS - LOOKUPS / 200);
		files++;
	}
	assert_true(files >= 4);
}

static const struct expected {
	uint64_t address;
	const char *name; /* NULL: none */
	uint64_t start, size;
	bool is_guessed;
} expected_nested[] = {
	{ 0x0fff, NULL, 0, 0, false },
	{ 0x1000, "outer", 0x1000, 0x100, false },
	{ 0x101f, "outer", 0x1000, 0x100, false },
	{ 0x1020, "inner", 0x1020, 0x10, false },
	{ 0x102f, "inner", 0x1020, 0x10, false },
	{ 0x1030, "outer", 0x1000, 0x100, false },
	{ 0x10f0, "across", 0x10f0, 0x40, false },
	{ 0x112f, "across", 0x10f0, 0x40, false },
	/* Aliases: global, then fewer underscores, then the alphabet. */
	{ 0x1200, "alias", 0x1200, 8, false },
	/* The assembly label inside outer cuts nothing off; the one behind everything reaches to
	 * the next, and the last one to its limit. */
	{ 0x1010, "outer", 0x1000, 0x100, false },
	{ 0x1300, "bare", 0x1300, 0x100, true },
	{ 0x13ff, "bare", 0x1300, 0x100, true },
	{ 0x1400, "bare2", 0x1400, ELF_SYMBOL_GUESS_BYTES, true },
	{ 0x1400 + ELF_SYMBOL_GUESS_BYTES - 1, "bare2", 0x1400, ELF_SYMBOL_GUESS_BYTES, true },
	{ 0x1400 + ELF_SYMBOL_GUESS_BYTES, NULL, 0, 0, false },
	/* To the end of its section. */
	{ 0x8ff0, "last", 0x8ff0, 0x10, true },
	{ 0x9000, NULL, 0, 0, false },
};

#define SYMBOL(is_global, kind, at, bytes)                                              \
	{                                                                               \
		.st_info = ELF64_ST_INFO((is_global) ? STB_GLOBAL : STB_LOCAL, (kind)), \
		.st_shndx = 1, .st_value = (at), .st_size = (bytes)                     \
	}

static void test_nested(void **state)
{
	(void)state;
	static const char strings[] =
		"\0outer\0inner\0across\0__alias\0_alias\0alias\0alibi\0local\0"
		"label\0bare\0bare2\0last\0$x\0overflow";
	struct {
		Elf64_Ehdr eh;
		Elf64_Shdr sh[4];
		Elf64_Sym sym[16];
		char strings[sizeof(strings)];
	} image = {
		.eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_shoff = sizeof(Elf64_Ehdr),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 4 },
		.sh = { [1] = { .sh_type = SHT_NOBITS,
				.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				.sh_addr = 0x1000,
				.sh_size = 0x8000 },
			[2] = { .sh_type = SHT_SYMTAB,
				.sh_link = 3,
				.sh_offset = sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Shdr),
				.sh_size = 16 * sizeof(Elf64_Sym) },
			[3] = { .sh_type = SHT_STRTAB,
				.sh_offset = sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Shdr) +
					     16 * sizeof(Elf64_Sym),
				.sh_size = sizeof(strings) } },
		.sym = { [1] = SYMBOL(false, STT_NOTYPE, 0x1010, 0), /* label */
			 [2] = SYMBOL(true, STT_FUNC, 0x1020, 0x10),
			 [3] = SYMBOL(true, STT_FUNC, 0x1000, 0x100),
			 [4] = SYMBOL(true, STT_FUNC, 0x10f0, 0x40),
			 [5] = SYMBOL(true, STT_FUNC, 0x1200, 8),  /* __alias */
			 [6] = SYMBOL(true, STT_FUNC, 0x1200, 8),  /* _alias */
			 [7] = SYMBOL(true, STT_FUNC, 0x1200, 8),  /* alias */
			 [8] = SYMBOL(true, STT_FUNC, 0x1200, 8),  /* alibi */
			 [9] = SYMBOL(false, STT_FUNC, 0x1200, 8), /* local */
			 [10] = SYMBOL(true, STT_NOTYPE, 0x1300, 0),
			 [11] = SYMBOL(true, STT_NOTYPE, 0x1400, 0),
			 [12] = SYMBOL(true, STT_NOTYPE, 0x8ff0, 0),
			 [13] = SYMBOL(false, STT_NOTYPE, 0x1500, 0), /* $x */
			 [14] = SYMBOL(true, STT_FUNC, 0x1000, UINT64_MAX),
			 [15] = SYMBOL(true, STT_FUNC, 0x1000, 1) }, /* name outside */
	};
	struct err err;
	memcpy(image.strings, strings, sizeof(strings));
	static const char *const names[] = { NULL,      "label",  "inner", "outer", "across",
					     "__alias", "_alias", "alias", "alibi", "local",
					     "bare",    "bare2",  "last",  "$x",    "overflow" };
	for (size_t i = 1; i < ARRAY_SIZE(names); i++) {
		for (size_t at = 1; at < sizeof(strings); at += strlen(strings + at) + 1) {
			if (!strcmp(strings + at, names[i]))
				image.sym[i].st_name = (uint32_t)at;
		}
	}

	image.sym[15].st_name = 7000;

	CLEANUP(elf_close) struct elf_file *elf = NULL;
	assert_int_equal(elf_open_memory(&elf, span_of(&image, sizeof(image)), "x", &err), 0);
	CLEANUP(elf_symtab_free) struct elf_symtab *t = NULL;
	assert_int_equal(elf_symtab_new(&t, elf, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(expected_nested); i++) {
		const struct expected *e = &expected_nested[i];
		struct elf_symbol s;
		int rc = elf_symtab_at(t, e->address, &s);
		assert_int_equal(rc, e->name ? 0 : -ENOENT);
		if (!e->name)
			continue;
		assert_string_equal(s.name, e->name);
		assert_int_equal(s.value, e->start);
		assert_int_equal(s.size, e->size);
		assert_int_equal(s.is_guessed, e->is_guessed);
	}
}

static void open_corpus(const char *name, int *fd, struct elf_file **elf, struct elf_symtab **t)
{
	char path[PATH_MAX];
	struct err err;

	snprintf(path, sizeof(path), "%s/fuzz/corpus/elf/%s", TEST_SOURCE_DIR, name);
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_open_fd(elf, *fd, name, 0, &err), 0);
	assert_int_equal(elf_symtab_new(t, *elf, &err), 0);
}

/* stripped.so has square in .dynsym; hidden is static, and only mini.so's .gnu_debugdata has it. */
static void test_mini_debuginfo(void **state)
{
	(void)state;
	static const struct {
		const char *file;
		bool has_hidden;
	} cases[] = { { "symtab.so", true }, { "stripped.so", false }, { "mini.so", true } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_CLOSE int fd = -1;
		CLEANUP(elf_close) struct elf_file *elf = NULL;
		CLEANUP(elf_symtab_free) struct elf_symtab *t = NULL;
		struct elf_symbol square, hidden, at;
		open_corpus(cases[i].file, &fd, &elf, &t);
		assert_int_equal(elf_symtab_find(t, "square", &square), 0);
		assert_int_equal(elf_symtab_find(t, "hidden", &hidden),
				 cases[i].has_hidden ? 0 : -ENOENT);
		if (cases[i].has_hidden) {
			assert_int_equal(elf_symtab_at(t, hidden.value, &at), 0);
			assert_string_equal(at.name, "hidden");
		}
		assert_int_equal(elf_symtab_at(t, square.value, &at), 0);
		assert_string_equal(at.name, "square");
	}
}

/* What the script that made the file says: twice@@V_2 is twice_now, twice@V_1 is twice_old. */
static void test_versions(void **state)
{
	(void)state;
	static const char *const files[] = { "symtab.so", "stripped.so" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		CLEANUP_CLOSE int fd = -1;
		CLEANUP(elf_close) struct elf_file *elf = NULL;
		CLEANUP(elf_symtab_free) struct elf_symtab *t = NULL;
		struct elf_symbol bare, now, old;
		open_corpus(files[i], &fd, &elf, &t);
		assert_int_equal(elf_symtab_find(t, "twice", &bare), 0);
		assert_int_equal(elf_symtab_find(t, "twice@@V_2", &now), 0);
		assert_int_equal(elf_symtab_find(t, "twice@V_1", &old), 0);
		assert_int_equal(bare.value, now.value);
		assert_int_not_equal(now.value, old.value);
		assert_true(now.is_default);
		assert_false(old.is_default);
		assert_string_equal(old.version, "V_1");
		assert_string_equal(old.name, "twice");
		assert_int_equal(elf_symtab_find(t, "twice@V_3", &old), -ENOENT);
		assert_int_equal(elf_symtab_find(t, "twic", &old), -ENOENT);
		if (!i) {
			struct elf_symbol plain;
			assert_int_equal(elf_symtab_find(t, "twice_old", &plain), 0);
			assert_int_equal(plain.value, old.value);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_readelf), cmocka_unit_test(test_at_like_llvm),
		cmocka_unit_test(test_nested),       cmocka_unit_test(test_mini_debuginfo),
		cmocka_unit_test(test_versions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
