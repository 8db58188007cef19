/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol table and DWARF together: whole chains of names and lines as llvm-symbolizer has them, outermost
 * name included; and what has no name.
 */
#include "unit.h"

#include "elf/symtab.h"
#include "elf/system_files.h"
#include "symbolize/elf_symbols.h"

#include <errno.h>

struct opened {
	int fd;
	struct elf_file *elf;
	struct elf_symtab *symtab;
	struct elf_symbols *symbols;
	struct elf_section text;
};

static void open_file(const char *path, unsigned flags, struct opened *ret)
{
	struct err err;
	ret->fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_open_fd(&ret->elf, ret->fd, path, 0, &err), 0);
	assert_int_equal(elf_section_find(ret->elf, ".text", &ret->text), 0);
	assert_int_equal(elf_symtab_new(&ret->symtab, ret->elf, &err), 0);
	assert_int_equal(elf_symbols_open(&ret->symbols, ret->fd, path, flags, &err), 0);
	assert_int_equal(elf_symbols_load(ret->symbols, &err), 0);
}

static void close_file(struct opened *o)
{
	elf_symbols_close(o->symbols);
	elf_symtab_free(o->symtab);
	elf_close(o->elf);
	close(o->fd);
}

struct comparison {
	struct opened *file;
	struct symbol symbol;
	uint64_t address;
	unsigned line;
	char name[8192];
	size_t frames, unlike;
	int rc;
};

static bool is_same_symbol(struct opened *f, const char *a, const char *b)
{
	struct elf_symbol sa, sb;
	if (!strcmp(a, b))
		return true;
	/* Another name of the same function. */
	return elf_symtab_find(f->symtab, a, &sa) == 0 && elf_symtab_find(f->symtab, b, &sb) == 0 &&
	       sa.value == sb.value;
}

static void compare_line(void *data, char *text)
{
	struct comparison *c = data;

	if (!strncmp(text, "0x", 2)) {
		c->address = strtoul(text, NULL, 16);
		c->rc = elf_symbols_at(c->file->symbols, c->address, true, 0, &c->symbol);
		c->line = 1;
		return;
	}
	if (c->line++ % 2) {
		snprintf(c->name, sizeof(c->name), "%s", text);
		return;
	}
	size_t frame = (c->line - 2) / 2;
	char *colon = strrchr(text, ':');
	uint32_t line = (uint32_t)strtoul(colon + 1, NULL, 10);
	if (!strcmp(c->name, "??")) /* between functions */
		return;
	assert_int_equal(c->rc, 0);
	c->frames++;
	const struct symbol_line *ours =
		frame < c->symbol.count ? &c->symbol.lines[c->symbol.count - 1 - frame] : NULL;
	/* Line 0 is filled in here. */
	if (ours && is_same_symbol(c->file, ours->name, c->name) &&
	    (ours->line == line || (!line && !frame)))
		return;
	if (c->unlike++ < 3)
		print_message("0x%lx: %s at %s, not %s:%u\n", c->address, c->name, text,
			      ours ? ours->name : "nothing", ours ? ours->line : 0);
}

static void test_like_llvm(void **state)
{
	(void)state;
	static const char *const fixtures[] = { "gcc_v5.so",     "gxx_v5.so",     "gxx_v4.so",
						"gxx_o0.so",     "gxx_lto.so",    "clang_v5.so",
						"clangxx_v5.so", "clang_lines.so" };
	if (system("llvm-symbolizer --version > /dev/null 2>&1") != 0) { /* NOLINT */
		print_message("no llvm-symbolizer\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(fixtures); i++) {
		char path[PATH_MAX], input[PATH_MAX], command[3 * PATH_MAX];
		struct opened f;
		snprintf(path, sizeof(path), "%s/%s", FIXTURE_DIR, fixtures[i]);
		if (access(path, R_OK) < 0)
			continue;
		open_file(path, ELF_SYMBOLS_LINES, &f);
		assert_true(elf_symbols_have_lines(f.symbols));
		snprintf(input, sizeof(input), "%s/elf_symbols_test.%d", TEST_BINARY_DIR, getpid());
		FILE *out = fopen(input, "we");
		assert_non_null(out);
		for (uint64_t at = 0; at < f.text.size; at += 5)
			fprintf(out, "0x%lx\n", f.text.addr + at);
		fclose(out);
		snprintf(command, sizeof(command),
			 "llvm-symbolizer --output-style=GNU --no-demangle -a -f -i -e '%s' < '%s'",
			 path, input);
		struct comparison c = { .file = &f };
		assert_true(command_lines(command, compare_line, &c) > 0);
		unlink(input);
		print_message("%s: %zu frames, %zu unlike\n", fixtures[i], c.frames, c.unlike);
		assert_int_equal(c.unlike, 0);
		close_file(&f);
	}
}

/* hidden is static and stripped; square is in .dynsym; both keep where they begin. */
static void test_unnamed(void **state)
{
	(void)state;
	char dir[] = "/tmp/accel-prof-test-XXXXXX", text[1024], path[64];
	struct opened whole, stripped;
	struct elf_symbol hidden, shown;
	struct symbol s;
	assert_non_null(mkdtemp(dir));
	snprintf(
		text, sizeof(text),
		"cd %s && printf 'int other(int); static int __attribute__((noinline)) hidden(int x)\n"
		"{ return other(x) * x; }\nint shown(int x) { return hidden(x) + 1; }\n' > x.c && "
		"gcc -O1 -g -shared -fPIC x.c -o whole.so && strip -o stripped.so whole.so",
		dir);
	assert_int_equal(system(text), 0); /* NOLINT(cert-env33-c) */
	snprintf(path, sizeof(path), "%s/whole.so", dir);
	open_file(path, 0, &whole);
	snprintf(path, sizeof(path), "%s/stripped.so", dir);
	open_file(path, ELF_SYMBOLS_LINES, &stripped);
	assert_int_equal(elf_symtab_find(whole.symtab, "hidden", &hidden), 0);
	assert_int_equal(elf_symtab_find(whole.symtab, "shown", &shown), 0);

	assert_int_equal(elf_symbols_at(whole.symbols, hidden.value, true, 0, &s), 0);
	assert_string_equal(s.lines[0].name, "hidden");
	assert_int_equal(s.lines[0].line, 0); /* opened without lines */
	assert_false(elf_symbols_have_lines(stripped.symbols));
	assert_int_equal(elf_symbols_at(stripped.symbols, shown.value, true, 0, &s), 0);
	assert_string_equal(s.lines[0].name, "shown");
	/* Both ends of the function have one name. */
	snprintf(text, sizeof(text), "stripped.so+0x%lx", hidden.value);
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t at = hidden.value + i * (hidden.size - 1);
		assert_int_equal(elf_symbols_at(stripped.symbols, at, true, 0, &s), 0);
		assert_string_equal(s.lines[0].name, text);
		assert_int_equal(s.start, hidden.value);
		assert_true(s.size >= hidden.size);
	}
	assert_int_equal(elf_symbols_at(stripped.symbols, 0, true, 0, &s), -ENOENT);

	/* Somewhere in the stubs is the one that calls other(). */
	bool has_stub = false;
	for (uint64_t at = 0x1000; at < stripped.text.addr; at++) {
		if (elf_symbols_at(stripped.symbols, at, false, 0, &s) == 0 &&
		    !strcmp(s.lines[0].name, "other@plt")) {
			has_stub = true;
			assert_true(at >= s.start && at - s.start < s.size);
		}
	}
	assert_true(has_stub);
	close_file(&whole);
	close_file(&stripped);
	snprintf(text, sizeof(text), "rm -r %s", dir);
	assert_int_equal(system(text), 0); /* NOLINT(cert-env33-c) */
}

static bool has_lines(const char *path, unsigned flags)
{
	struct opened f;

	open_file(path, ELF_SYMBOLS_LINES | flags, &f);
	bool has = elf_symbols_have_lines(f.symbols);
	close_file(&f);
	return has;
}

/* Much that is compressed is not for those who want cheap lines; little, or what is not, is. */
static void test_cheap_lines(void **state)
{
	(void)state;
	char dir[] = "/tmp/accel-prof-test-XXXXXX", text[1024], path[PATH_MAX];

	assert_non_null(mkdtemp(dir));
	/* 160 KB of .debug_info when compressed. */
	snprintf(
		text, sizeof(text),
		"cd %s && awk 'BEGIN { for (i = 0; i < 6000; i++) printf \"int f%%d(int a%%d, int b%%d)"
		"{ int c%%d = a%%d * b%%d; return c%%d; }\\n\", i, i * 31, i, i * 17, i * 31, i, i * 17 }'"
		" > x.c && gcc -g -gz=zlib -shared -fPIC x.c -o packed.so && "
		"objcopy --decompress-debug-sections packed.so plain.so",
		dir);
	assert_int_equal(system(text), 0); /* NOLINT(cert-env33-c) */
	snprintf(path, sizeof(path), "%s/packed.so", dir);
	assert_true(has_lines(path, 0));
	assert_false(has_lines(path, ELF_SYMBOLS_CHEAP));
	snprintf(path, sizeof(path), "%s/plain.so", dir);
	assert_true(has_lines(path, ELF_SYMBOLS_CHEAP));
	assert_true(has_lines(FIXTURE_DIR "/gcc_zlib.so", ELF_SYMBOLS_CHEAP));
	snprintf(text, sizeof(text), "rm -r %s", dir);
	assert_int_equal(system(text), 0); /* NOLINT(cert-env33-c) */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_llvm),
		cmocka_unit_test(test_unnamed),
		cmocka_unit_test(test_cheap_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
