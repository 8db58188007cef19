/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "elf/symtab.h"
#include "elf/system_files.h"
#include "symbolize/demangle.h"

#include <time.h>

struct expected {
	const char *name, *display, *full;
	bool is_mangled;
};

/* By the Itanium C++ ABI, chapter 5.1, and Rust's RFC 2603; full names as c++filt prints them. */
static const struct expected expected[] = {
	{ "main", "main", "main", false },
	{ "_ZN2at6native6matmulERKNS_6TensorES3_", "at::native::matmul",
	  "at::native::matmul(at::Tensor const&, at::Tensor const&)", true },
	{ "_ZNK3foocvT_IiEEv", "foo::operator int<int>", "foo::operator int<int>() const", true },
	{ "_Znwm", "operator new", "operator new(unsigned long)", true },
	{ "_Z3addIiET_S0_S0_", "add<int>", "int add<int>(int, int)", true },
	{ "_ZN6shapes5totalEv.cold", "shapes::total", "shapes::total() [clone .cold]", true },
	{ "_ZTV6Module", "vtable for Module", "vtable for Module", true },
	{ "_ZZN1f1gEvENKUliE_clEi", "f::g()::{lambda(int)#1}::operator()",
	  "f::g()::{lambda(int)#1}::operator()(int) const", true },
	{ "_ZN2at5emptyEl@plt", "at::empty@plt", "at::empty(long)@plt", true },
	{ "memcpy@plt", "memcpy@plt", "memcpy@plt", false },
	/* Rust, legacy with its hash, and v0 */
	{ "_ZN3foo3bar17h05af221e174051e9E", "foo::bar", "foo::bar", true },
	{ "_RNvCs1234_7mycrate3foo", "mycrate::foo", "mycrate::foo", true },
	/* macOS */
	{ "__ZN3foo3barEv", "foo::bar", "foo::bar()", true },
	/* What a compiler made several of */
	{ "sum.cold", "sum", "sum.cold", false },
	{ "sum.part.0.isra.0", "sum", "sum.part.0.isra.0", false },
	{ "sum.llvm.1234567890", "sum", "sum.llvm.1234567890", false },
	/* but not a name that only looks like it */
	{ "sum.coldest", "sum.coldest", "sum.coldest", false },
	{ "libfoo.so+0x1234", "libfoo.so+0x1234", "libfoo.so+0x1234", false },
	/* No name of ours */
	{ "_Znonsense", "_Znonsense", "_Znonsense", true },
	{ "_Read_all", "_Read_all", "_Read_all", false },
	{ "_R", "_R", "_R", false },
	{ "", "", "", false },
	{ ".cold", ".cold", ".cold", false },
};

static void test_expected(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		const struct expected *e = &expected[i];
		struct strbuf b = { 0 };
		strbuf_puts(&b, "x ");
		assert_int_equal(demangle(&b, e->name, 0), e->is_mangled);
		assert_string_equal(strbuf_text(&b) + 2, e->display);
		strbuf_reset(&b);
		demangle(&b, e->name, DEMANGLE_PARAMS);
		assert_string_equal(strbuf_text(&b), e->full);
		strbuf_release(&b);
	}
}

/* A function of parameters each of which is made of two of the one before: @levels of them. */
static void make_explosive(char *name, size_t size, int levels)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char last[8] = "S0_";
	int n = snprintf(name, size, "_Z1f1aIiE");
	/* Substitutions count from S_: "a", then "a<int>" as S0_; then "b" once, and one each level. */
	for (int level = 1; level < levels; level++) {
		n += snprintf(name + n, size - (size_t)n, "%sI%s%sE", level == 1 ? "1b" : "S1_",
			      last, last);
		int number = level + 1;
		assert_in_range(number, 0, 35);
		snprintf(last, sizeof(last), "S%c_", digits[number]);
	}
}

static void test_explosion(void **state)
{
	(void)state;
	char name[4096];
	struct strbuf b = { 0 };

	make_explosive(name, sizeof(name), 3);
	assert_true(demangle(&b, name, DEMANGLE_PARAMS));
	assert_string_equal(
		strbuf_text(&b),
		"f(a<int>, b<a<int>, a<int> >, b<b<a<int>, a<int> >, b<a<int>, a<int> > >)");
	/* 2^30 names: given up, and shown as it is. */
	strbuf_reset(&b);
	make_explosive(name, sizeof(name), 30);
	assert_true(demangle(&b, name, DEMANGLE_PARAMS));
	assert_string_equal(strbuf_text(&b), name);
	strbuf_release(&b);
}

/* Deep nesting up to the limit on the input, and beyond it. */
static void test_depth(void **state)
{
	(void)state;
	static const char *const units[] = { "P", "FP", "1aI", "NK", "St", "I", "X", "L" };
	for (size_t u = 0; u < ARRAY_SIZE(units); u++) {
		for (size_t size = 1000; size < 40000; size *= 2) {
			struct strbuf name = { 0 }, b = { 0 };
			strbuf_puts(&name, "_Z1f");
			while (name.len < size)
				strbuf_puts(&name, units[u]);
			strbuf_putc(&name, 'i');
			demangle(&b, strbuf_text(&name), DEMANGLE_PARAMS);
			assert_true(b.len > 0);
			strbuf_reset(&name);
			strbuf_puts(&name, "_R");
			while (name.len < size)
				strbuf_puts(&name, units[u]);
			demangle(&b, strbuf_text(&name), 0);
			strbuf_release(&name);
			strbuf_release(&b);
		}
	}
}

struct filter {
	struct elf_symtab *symtab;
	size_t next, compared;
};

static void compare_filtered(void *data, char *line)
{
	struct filter *f = data;
	const char *name;
	do
		name = elf_symtab_get(f->symtab, f->next++).name;
	while (strncmp(name, "_Z", 2) != 0);
	struct strbuf b = { 0 };
	assert_true(demangle(&b, name, DEMANGLE_PARAMS));
	assert_string_equal(strbuf_text(&b), line);
	strbuf_release(&b);
	f->compared++;
}

/* Every C++ name of a real library, as c++filt shows it. */
static void test_like_cxxfilt(void **state)
{
	(void)state;
	char buffer[PATH_MAX], list[PATH_MAX], command[2 * PATH_MAX];
	static const char path[] = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6";
	struct err err;

	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!realpath(path, buffer) || fd < 0)
		skip();
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	CLEANUP(elf_symtab_free) struct elf_symtab *t = NULL;
	assert_int_equal(elf_open_fd(&elf, fd, path, 0, &err), 0);
	assert_int_equal(elf_symtab_new(&t, elf, &err), 0);
	snprintf(list, sizeof(list), "%s/demangle_test.%d", TEST_BINARY_DIR, getpid());
	FILE *out = fopen(list, "we");
	assert_non_null(out);
	for (size_t i = 0; i < elf_symtab_count(t); i++) {
		const char *name = elf_symtab_get(t, i).name;
		if (!strncmp(name, "_Z", 2))
			fprintf(out, "%s\n", name);
	}
	fclose(out);
	snprintf(command, sizeof(command), "c++filt --no-verbose < '%s'", list);
	struct filter f = { .symtab = t };
	assert_true(command_lines(command, compare_filtered, &f) > 1000);
	unlink(list);
	print_message("%zu names\n", f.compared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expected),
		cmocka_unit_test(test_explosion),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_like_cxxfilt),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
