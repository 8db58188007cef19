/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every few bytes of code of each fixture, asked of ours and of two other tools: the same functions,
 * files and lines, innermost to outermost.
 */
#include "unit.h"

#include "dwarf/debug_info.h"
#include "elf/system_files.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>

/* addr2line prints the address (-a), then for each frame, innermost first, a name and a place. */
struct comparison {
	struct debug_info *info;
	bool has_aliases; /* outermost names may be other symbols of the same function */
	struct debug_place place;
	int rc;
	uint64_t address;
	unsigned line;       /* since the address */
	char name[8192];     /* of the frame being read */
	size_t addresses;    /* asked */
	size_t frames;       /* compared */
	size_t zero_lines;   /* of these, innermost frames where the other tool says line 0 */
	size_t filled_lines; /* and we found one before it in the same function */
	size_t unlike;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static void report(struct comparison *c, const char *place)
{
	if (c->unlike++ >= 3)
		return;
	print_message("0x%lx: %s at %s, but:\n", c->address, c->name, place);
	for (size_t i = 0; !c->rc && i < c->place.count; i++)
		print_message("    %s at %s:%u\n", c->place.lines[i].name, c->place.lines[i].file,
			      c->place.lines[i].line);
}

/*
 * Both tools take the outermost name from the symbol table: "plain_entry.cold", and mangled where
 * gcc leaves out DW_AT_linkage_name, as it does for static functions; lib/symbolize does the same.
 */
static bool is_same_name(const struct comparison *c, const char *ours, bool is_outermost)
{
	const char *theirs = c->name;
	if (is_outermost && c->has_aliases)
		return true;
	if (!ours || (is_outermost && strncmp(ours, "_Z", 2) != 0 && !strncmp(theirs, "_Z", 2)))
		return is_outermost;
	size_t n = strlen(ours), same = 0;
	if (!strncmp(ours, theirs, n) && (!theirs[n] || theirs[n] == '.'))
		return true;
	/* Constructors have several symbols for one address: C1, C2. */
	while (ours[same] && ours[same] == theirs[same])
		same++;
	return is_outermost && same && strchr("CD", ours[same - 1]) &&
	       !strcmp(ours + same + 1, theirs + same + 1);
}

static void compare_frame(struct comparison *c, char *place)
{
	size_t frame = (c->line - 2) / 2;
	char *discriminator = strstr(place, " (disc");
	if (discriminator)
		*discriminator = '\0';
	char *colon = strrchr(place, ':');
	assert_non_null(colon);
	uint32_t line = (uint32_t)strtoul(colon + 1, NULL, 10);
	*colon = '\0';

	c->frames++;
	if (c->rc < 0) {
		/* The name may be from the symbol table. */
		if (line)
			report(c, place);
		return;
	}
	if (frame >= c->place.count) {
		report(c, place);
		return;
	}
	const struct debug_line *ours = &c->place.lines[c->place.count - 1 - frame];
	bool is_zero = !line && !frame;
	c->zero_lines += is_zero;
	c->filled_lines += is_zero && ours->line;
	if ((!is_zero && ours->line != line) ||
	    (line && strcmp(base_name(ours->file), base_name(place)) != 0) ||
	    !is_same_name(c, ours->name, frame + 1 == c->place.count)) {
		*colon = ':';
		report(c, place);
	}
}

static void compare_line(void *data, char *line)
{
	struct comparison *c = data;

	if (!strncmp(line, "0x", 2)) {
		c->address = strtoul(line, NULL, 16);
		c->rc = debug_info_at(c->info, c->address, 0, &c->place);
		assert_true(c->rc == 0 || c->rc == -ENOENT);
		c->addresses++;
		c->line = 1;
		return;
	}
	if (c->line++ % 2)
		snprintf(c->name, sizeof(c->name), "%s", line);
	else
		compare_frame(c, line);
}

static void compare_file(const char *tool, const char *path, const char *code_path, size_t count,
			 struct comparison *c)
{
	struct err err;
	char input[PATH_MAX], command[3 * PATH_MAX];
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP_CLOSE int code_fd = open(code_path, O_RDONLY | O_CLOEXEC);
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	assert_int_equal(elf_open_fd(&elf, code_fd, code_path, 0, &err), 0);
	struct elf_section text;
	assert_int_equal(elf_section_find(elf, ".text", &text), 0);

	snprintf(input, sizeof(input), "%s/debug_info_test.%d", TEST_BINARY_DIR, getpid());
	FILE *out = fopen(input, "we");
	assert_non_null(out);
	uint64_t step = text.size / count ? text.size / count : 1;
	for (uint64_t at = 0; at < text.size; at += step)
		fprintf(out, "0x%lx\n", text.addr + at);
	fclose(out);

	assert_int_equal(debug_info_open_fd(&c->info, fd, path, DEBUG_INFO_MAP, &err), 0);
	snprintf(command, sizeof(command), "%s '%s' < '%s'", tool, path, input);
	assert_true(command_lines(command, compare_line, c) > 0);
	unlink(input);
	debug_info_close(c->info);
}

struct tool {
	const char *command;
	const char *const *fixtures; /* that it reads; NULL: all */
};

static bool is_read_by(const struct tool *tool, const char *name)
{
	for (size_t i = 0; tool->fixtures && tool->fixtures[i]; i++) {
		if (!strcmp(tool->fixtures[i], name))
			return true;
	}
	return !tool->fixtures;
}

static void compare_fixtures(const struct tool *tool)
{
	DIR *dir = opendir(FIXTURE_DIR);
	assert_non_null(dir);
	unsigned files = 0;
	size_t unlike = 0, zero = 0, filled = 0;

	for (struct dirent *e; (e = readdir(dir));) {
		char path[PATH_MAX];
		struct comparison c = { 0 };
		const char *end = strstr(e->d_name, ".so");
		if (!end || end[3] || !is_read_by(tool, e->d_name) ||
		    !strcmp(e->d_name, "gcc_split.so"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", FIXTURE_DIR, e->d_name);
		compare_file(tool->command, path, path, 4000, &c);
		print_message("%s: %zu addresses, %zu frames, %zu line 0, %zu unlike\n", e->d_name,
			      c.addresses, c.frames, c.zero_lines, c.unlike);
		assert_true(c.frames > c.addresses / 2);
		unlike += c.unlike;
		zero += c.zero_lines;
		filled += c.filled_lines;
		files++;
	}
	closedir(dir);
	assert_true(files >= 3);
	assert_int_equal(unlike, 0);
	print_message("%zu of %zu lines 0 filled in\n", filled, zero);
	assert_true(filled >= zero / 2);
}

/* binutils 2.40 gives up inlined functions in clang's DWARF 5 (an index of range lists), the calls of
 * lambdas, and file 0. */
static void test_like_addr2line(void **state)
{
	(void)state;
	static const char *const fixtures[] = { "gcc_v4.so", "gcc_v5.so", "gcc_zlib.so",
						"clangxx_v4.so", NULL };
	compare_fixtures(&(struct tool){ "addr2line -a -f -i -e", fixtures });
}

#define LLVM "llvm-symbolizer --output-style=GNU --no-demangle -a -f -i -e"

static void test_like_llvm(void **state)
{
	(void)state;
	if (system("llvm-symbolizer --version > /dev/null 2>&1") != 0) { /* NOLINT */
		print_message("no llvm-symbolizer\n");
		skip();
	}
	compare_fixtures(&(struct tool){ LLVM, NULL });
}

/* Where Debian puts the debug file of @code_path: false when it cannot be told. */
static bool find_debug_file(const char *code_path, char path[PATH_MAX])
{
	struct elf_build_id id;
	struct err err;

	CLEANUP_CLOSE int fd = open(code_path, O_RDONLY | O_CLOEXEC);
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	if (elf_open_fd(&elf, fd, code_path, 0, &err) < 0 || elf_build_id(elf, &id) < 0)
		return false;
	int n = snprintf(path, PATH_MAX, "/usr/lib/debug/.build-id/%02x/", id.bytes[0]);
	for (size_t i = 1; i < id.size; i++)
		n += snprintf(path + n, PATH_MAX - (size_t)n, "%02x", id.bytes[i]);
	snprintf(path + n, PATH_MAX - (size_t)n, ".debug");
	return access(path, R_OK) == 0;
}

/* The C library with its debug file, where it is installed: assembly, several units, many inlines. */
static void test_libc(void **state)
{
	(void)state;
	static const char code_path[] = "/lib/x86_64-linux-gnu/libc.so.6";
	char path[PATH_MAX];
	struct comparison c = { .has_aliases = true };

	if (!find_debug_file(code_path, path) ||
	    system("llvm-symbolizer --version > /dev/null 2>&1") != 0) { /* NOLINT */
		print_message("no llvm-symbolizer or no debug file of the C library\n");
		skip();
	}
	compare_file(LLVM, path, code_path, 5000, &c);
	print_message("libc: %zu addresses, %zu frames, %zu line 0, %zu unlike\n", c.addresses,
		      c.frames, c.zero_lines, c.unlike);
	assert_int_equal(c.unlike, 0);
}

/* Code compiled alike, once with its DWARF in a .dwo file. */
static void test_split(void **state)
{
	(void)state;
	struct err err;
	CLEANUP_CLOSE int fd_whole = open(FIXTURE_DIR "/gcc_v5.so", O_RDONLY | O_CLOEXEC);
	CLEANUP_CLOSE int fd_split = open(FIXTURE_DIR "/gcc_split.so", O_RDONLY | O_CLOEXEC);
	CLEANUP(debug_info_close) struct debug_info *whole = NULL, *split = NULL;
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	struct elf_section text;
	size_t inlined = 0;

	assert_int_equal(elf_open_fd(&elf, fd_whole, "whole", 0, &err), 0);
	assert_int_equal(elf_section_find(elf, ".text", &text), 0);
	assert_int_equal(debug_info_open_fd(&whole, fd_whole, "whole", 0, &err), 0);
	assert_int_equal(debug_info_open_fd(&split, fd_split, "split", 0, &err), 0);
	for (uint64_t at = text.addr; at < text.addr + text.size; at++) {
		struct debug_place a, b;
		int rc = debug_info_at(whole, at, 0, &a);
		assert_int_equal(debug_info_at(split, at, 0, &b), rc);
		if (rc < 0)
			continue;
		assert_int_equal(a.count, b.count);
		assert_int_equal(a.start, b.start);
		assert_int_equal(a.size, b.size);
		inlined += a.count > 1;
		for (size_t i = 0; i < a.count; i++) {
			assert_int_equal(a.lines[i].line, b.lines[i].line);
			assert_int_equal(a.lines[i].column, b.lines[i].column);
			assert_int_equal(!a.lines[i].name, !b.lines[i].name);
			if (a.lines[i].name)
				assert_string_equal(a.lines[i].name, b.lines[i].name);
			assert_int_equal(!a.lines[i].file, !b.lines[i].file);
			if (a.lines[i].file)
				assert_string_equal(base_name(a.lines[i].file),
						    base_name(b.lines[i].file));
		}
	}
	assert_true(inlined > 100);
}

static void test_no_dwarf(void **state)
{
	(void)state;
	struct err err;
	struct debug_info *d = NULL;
	CLEANUP_CLOSE int fd = open("/usr/bin/python3", O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		assert_int_equal(debug_info_open_fd(&d, fd, "python3", 0, &err), -ENOENT);
	assert_int_equal(debug_info_open_memory(&d, span_of("#!/bin/sh\n", 10), "x", &err),
			 -EBADMSG);
	assert_null(d);
}

/* A deadline that has passed is noticed, and asking again without one goes on where it stopped. */
static void test_deadline(void **state)
{
	(void)state;
	struct err err;
	struct debug_place place;
	CLEANUP_CLOSE int fd = open(FIXTURE_DIR "/gxx_v5.so", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		skip();
	CLEANUP(debug_info_close) struct debug_info *d = NULL;
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	struct elf_section text;
	assert_int_equal(elf_open_fd(&elf, fd, "x", 0, &err), 0);
	assert_int_equal(elf_section_find(elf, ".text", &text), 0);
	uint64_t at = text.addr + text.size / 2;
	assert_int_equal(debug_info_open_fd(&d, fd, "x", 0, &err), 0);
	assert_int_equal(debug_info_at(d, at, 1, &place), -ETIME);
	assert_int_equal(debug_info_at(d, at, 0, &place), 0);
	assert_true(place.lines[0].line > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_addr2line), cmocka_unit_test(test_like_llvm),
		cmocka_unit_test(test_libc),           cmocka_unit_test(test_split),
		cmocka_unit_test(test_no_dwarf),       cmocka_unit_test(test_deadline),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
