/* SPDX-License-Identifier: Apache-2.0 */
/* Names through the worker: the same as without it, for real files, with separate debug files, and for files
 * made to break it. */
#include "unit.h"

#include "elf/symtab.h"
#include "elf/system_files.h"
#include "worker/answer.h"
#include "worker/call.h"
#include "worker/debug_files.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#define SECOND 1000000000ull

static struct worker *start(void)
{
	struct worker *w = NULL;
	struct err err = { 0 };
	int rc = worker_start(&w, &err);
	if (rc < 0)
		fail_msg("%s", err.text);
	return w;
}

struct compare {
	struct elf_symbols *direct;
	bool want_lines;
	size_t count;
};

static int compare_symbol(void *data, uint64_t offset, const struct symbol *ours)
{
	struct compare *c = data;
	struct symbol direct;

	assert_int_equal(elf_symbols_at(c->direct, offset, c->want_lines, 0, &direct), 0);
	assert_int_equal(ours->start, direct.start);
	assert_int_equal(ours->size, direct.size);
	assert_int_equal(ours->count, direct.count);
	for (size_t i = 0; i < ours->count; i++) {
		assert_string_equal(ours->lines[i].name, direct.lines[i].name);
		assert_int_equal(ours->lines[i].line, direct.lines[i].line);
		assert_int_equal(ours->lines[i].column, direct.lines[i].column);
		assert_int_equal(!ours->lines[i].file, !direct.lines[i].file);
		if (ours->lines[i].file)
			assert_string_equal(ours->lines[i].file, direct.lines[i].file);
	}
	c->count++;
	return 0;
}

#define OFFSETS 2000

/* Real files: names and lines as lib/symbolize finds them in this process. */
static void test_like_direct(void **state)
{
	(void)state;
	CLEANUP(worker_free) struct worker *w = start();

	for (size_t i = 0; i < ARRAY_SIZE(system_files); i++) {
		char buffer[PATH_MAX];
		const char *path = system_file_path(i, buffer);
		uint64_t offsets[OFFSETS];
		struct err err;
		if (!path)
			continue;
		CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
		CLEANUP(elf_close) struct elf_file *elf = NULL;
		struct elf_section text;
		assert_int_equal(elf_open_fd(&elf, fd, path, 0, &err), 0);
		assert_int_equal(elf_section_find(elf, ".text", &text), 0);
		for (size_t n = 0; n < OFFSETS; n++)
			offsets[n] = text.addr + text.size / OFFSETS * n;

		CLEANUP_CLOSE int debug = -1;
		CLEANUP(elf_symbols_close) struct elf_symbols *direct = NULL;
		struct elf_symbols_wanted wanted;
		struct debug_files files = { .path = path, .root_fd = -1 };
		assert_int_equal(elf_symbols_open(&direct, fd, path, ELF_SYMBOLS_LINES, &err), 0);
		if (elf_symbols_want_debug(direct, &wanted))
			debug = debug_files_open(&files, &wanted, 0);
		if (debug >= 0)
			assert_int_equal(elf_symbols_add_debug(direct, debug, &err), 0);
		assert_int_equal(elf_symbols_load(direct, &err), 0);

		struct compare c = { .direct = direct, .want_lines = true };
		struct worker_object object = {
			.fd = fd,
			.kind = WORKER_ELF,
			.path = path,
			.root_fd = -1,
		};
		struct worker_ask ask = {
			.offsets = offsets,
			.count = OFFSETS,
			.want_lines = true,
			.budget_ns = 60 * SECOND,
		};
		struct worker_counts counts;
		int rc = worker_symbolize(w, &object, &ask, compare_symbol, &c, &counts, &err);
		if (rc < 0)
			fail_msg("%s", err.text);
		print_message("%s: %zu named, %zu lines%s\n", path, counts.named, counts.with_lines,
			      counts.has_debug_file ? ", debug file" : "");
		assert_int_equal(c.count, counts.named);
		assert_int_equal(counts.has_debug_file, debug >= 0);
		assert_false(counts.is_budget_spent);
		assert_false(counts.has_lines_failed);
		if (i == 0) /* this test itself, built with -g */
			assert_true(counts.with_lines > OFFSETS / 2);

		/* Without lines: the same names. */
		ask.want_lines = false;
		struct elf_symbols *names = direct;
		struct compare without = { .direct = names };
		rc = worker_symbolize(w, &object, &ask, compare_symbol, &without, &counts, &err);
		if (debug < 0) {
			assert_int_equal(rc, 0);
			assert_int_equal(counts.with_lines, 0);
		}
	}
	assert_int_equal(worker_restarts(w), 0);
}

struct first {
	char name[256], file[256];
	uint32_t line;
	size_t count;
	int rc;
};

static int take_first(void *data, uint64_t offset, const struct symbol *s)
{
	struct first *f = data;
	(void)offset;
	if (!f->count++) {
		snprintf(f->name, sizeof(f->name), "%s", s->lines[0].name);
		snprintf(f->file, sizeof(f->file), "%s", s->lines[0].file ? s->lines[0].file : "");
		f->line = s->lines[0].line;
	}
	return f->rc;
}

static void run(const char *format, const char *dir)
{
	char command[3 * PATH_MAX];
	/* Each %s of @format is the folder. */
	snprintf(command, sizeof(command), "D='%s'; %s", dir, format);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

/* A file that is stripped after its debug information was put elsewhere, as distributions do: found by
 * debuglink in each of its three places, and by build-id in a root that is not ours; never a wrong one. */
static void test_debuglink(void **state)
{
	(void)state;
	static const struct {
		const char *prepare;
		const char *path; /* below the root */
		bool is_found;
	} cases[] = {
		{ "mkdir -p $D/lib && mv $D/x.debug $D/lib/", "/lib/x.so", true },
		{ "mkdir -p $D/lib/.debug && mv $D/x.debug $D/lib/.debug/", "/lib/x.so", true },
		{ "mkdir -p $D/usr/lib/debug/lib && mv $D/x.debug $D/usr/lib/debug/lib/",
		  "/lib/x.so", true },
		{ "mkdir -p $D/else && mv $D/x.debug $D/else/", "/lib/x.so", false },
		{ "mkdir -p $D/lib && echo broken >> $D/x.debug && mv $D/x.debug $D/lib/",
		  "/lib/x.so", false },
		{ "mkdir -p $D/lib && ln -s ../x.debug $D/lib/x.debug", "/lib/x.so", true },
	};
	CLEANUP(worker_free) struct worker *w = start();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char dir[] = "/tmp/accel-prof-test-XXXXXX", file[PATH_MAX];
		assert_non_null(mkdtemp(dir));
		run("cd $D && printf 'static int __attribute__((noinline)) hidden(int x)\n"
		    "{ return x * x; }\nint shown(int x) { return hidden(x) + 1; }\n' > x.c && "
		    "gcc -O1 -g -shared -fPIC -Wl,--build-id=none x.c -o x.so && "
		    "objcopy --only-keep-debug x.so x.debug && "
		    "nm x.so | grep ' t hidden' | cut -d' ' -f1 > address && "
		    "strip x.so && objcopy --add-gnu-debuglink=x.debug x.so",
		    dir);
		run(cases[i].prepare, dir);

		snprintf(file, sizeof(file), "%s/address", dir);
		CLEANUP_FCLOSE FILE *address = fopen(file, "re");
		unsigned long offset;
		assert_non_null(address);
		assert_int_equal(fscanf(address, "%lx", &offset), 1);
		snprintf(file, sizeof(file), "%s/x.so", dir);
		CLEANUP_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
		CLEANUP_CLOSE int root = open(dir, O_PATH | O_CLOEXEC);

		struct worker_object object = {
			.fd = fd,
			.kind = WORKER_ELF,
			.path = cases[i].path,
			.root_fd = root,
		};
		uint64_t offsets[] = { offset };
		struct worker_ask ask = {
			.offsets = offsets,
			.count = 1,
			.want_lines = true,
			.budget_ns = SECOND,
		};
		struct worker_counts counts;
		struct first first = { 0 };
		struct err err;
		assert_int_equal(
			worker_symbolize(w, &object, &ask, take_first, &first, &counts, &err), 0);
		run("rm -r $D", dir);
		assert_int_equal(counts.has_debug_file, cases[i].is_found);
		assert_int_equal(first.count, 1);
		if (!cases[i].is_found) { /* where the function begins */
			char unnamed[64];
			snprintf(unnamed, sizeof(unnamed), "x.so+0x%lx", offset);
			assert_string_equal(first.name, unnamed);
			continue;
		}
		assert_string_equal(first.name, "hidden");
		assert_string_equal(strrchr(first.file, '/'), "/x.c");
		assert_int_equal(first.line, 2);
	}
}

/* Links in a target's root lead nowhere else. */
static void test_debug_files_stay_in_root(void **state)
{
	(void)state;
	char dir[] = "/tmp/accel-prof-test-XXXXXX";
	assert_non_null(mkdtemp(dir));
	run("mkdir $D/lib && cp /bin/true $D/true && ln -s /true $D/lib/inside.debug && "
	    "ln -s /bin/true $D/lib/outside.debug && ln -s ../../../bin/true $D/lib/up.debug && "
	    "mkfifo $D/lib/fifo.debug && echo text > $D/lib/text.debug",
	    dir);
	CLEANUP_CLOSE int root = open(dir, O_PATH | O_CLOEXEC);
	struct debug_files files = { .path = "/lib/object", .root_fd = root };
	static const struct {
		const char *name;
		bool is_opened;
	} cases[] = { { "inside.debug", true }, { "outside.debug", false },
		      { "up.debug", false },    { "fifo.debug", false },
		      { "text.debug", false },  { "missing.debug", false } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct elf_symbols_wanted wanted = { 0 };
		snprintf(wanted.name, sizeof(wanted.name), "%s", cases[i].name);
		CLEANUP_CLOSE int fd = debug_files_open(&files, &wanted, 0);
		if ((fd >= 0) != cases[i].is_opened)
			fail_msg("%s", cases[i].name);
		CLEANUP_CLOSE int second = debug_files_open(&files, &wanted, 1);
		assert_int_equal(second, -ENOENT);
	}
	run("rm -r $D", dir);
}

static int memory_file(const void *data, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	return fd;
}

static int ask_one(struct worker *w, int fd, enum worker_kind kind, uint64_t offset,
		   struct first *first, struct err *err)
{
	struct worker_object object = { .fd = fd, .kind = kind, .path = "/x", .root_fd = -1 };
	struct worker_ask ask = {
		.offsets = &offset,
		.count = 1,
		.want_lines = true,
		.budget_ns = SECOND,
	};
	return worker_symbolize(w, &object, &ask, take_first, first, NULL, err);
}

static void test_perf_map(void **state)
{
	(void)state;
	static const char text[] = "7f0000001000 40 first\n7f0000001040 10 py::run:/a b.py\n"
				   "7f0000001000 20 second\n";
	CLEANUP(worker_free) struct worker *w = start();
	CLEANUP_CLOSE int fd = memory_file(text, strlen(text));
	static const struct {
		uint64_t address;
		const char *name;
	} cases[] = {
		{ 0x7f0000000fff, NULL },
		{ 0x7f0000001000, "second" },
		{ 0x7f000000101f, "second" },
		{ 0x7f0000001020, "first" },
		{ 0x7f0000001040, "py::run:/a b.py" },
		{ 0x7f0000001050, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct first first = { 0 };
		struct err err;
		assert_int_equal(ask_one(w, fd, WORKER_PERF_MAP, cases[i].address, &first, &err),
				 0);
		assert_int_equal(first.count, cases[i].name ? 1 : 0);
		if (cases[i].name)
			assert_string_equal(first.name, cases[i].name);
	}
}

/* Files that are none, or are damaged, are named and cost nothing else. */
static void test_damaged(void **state)
{
	(void)state;
	CLEANUP(worker_free) struct worker *w = start();
	struct first first = { 0 };
	struct err err = { 0 };

	CLEANUP_CLOSE int script = memory_file("#!/bin/sh\n", 10);
	assert_int_equal(ask_one(w, script, WORKER_ELF, 0, &first, &err), -EBADMSG);
	assert_string_equal(err.text, "'/x' is not an ELF file");
	CLEANUP_CLOSE int dump = memory_file("DTiJ", 4);
	assert_int_equal(ask_one(w, dump, WORKER_JITDUMP, 0, &first, &err), -EBADMSG);
	CLEANUP_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(ask_one(w, null, WORKER_ELF, 0, &first, &err), -EBADMSG);
	CLEANUP_CLOSE int empty = memory_file("", 0);
	assert_int_equal(ask_one(w, empty, WORKER_PERF_MAP, 0, &first, &err), 0);
	assert_int_equal(ask_one(w, empty, WORKER_ELF, 0, &first, &err), -EBADMSG);
	assert_int_equal(worker_restarts(w), 0);
	assert_int_equal(first.count, 0);
}

/* What @fn returns ends it and is returned. */
static void test_caller_stops(void **state)
{
	(void)state;
	CLEANUP(worker_free) struct worker *w = start();
	CLEANUP_CLOSE int fd = memory_file("1000 10 a\n2000 10 b\n", 20);
	uint64_t offsets[] = { 0x2004, 0x1004, 0x3000 };
	struct worker_object object = { .fd = fd, .kind = WORKER_PERF_MAP, .root_fd = -1 };
	struct worker_ask ask = { .offsets = offsets, .count = 3 };
	struct first first = { .rc = -ENOSPC };
	struct err err;

	assert_int_equal(worker_symbolize(w, &object, &ask, take_first, &first, NULL, &err),
			 -ENOSPC);
	assert_int_equal(first.count, 1);
	assert_string_equal(first.name, "b"); /* in the order asked */
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int ignore_symbol(void *data, uint64_t offset, const struct symbol *s)
{
	(void)data, (void)offset, (void)s;
	return 0;
}

/* With a budget of a millisecond not all lines, but all names. */
static void test_budget(void **state)
{
	(void)state;
	CLEANUP(worker_free) struct worker *w = start();
	static const char path[] = "/lib/x86_64-linux-gnu/libc.so.6";
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP_FREE uint64_t *offsets = malloc(50000 * sizeof(*offsets));
	struct err err;
	struct elf_section text;
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	assert_int_equal(elf_open_fd(&elf, fd, path, 0, &err), 0);
	assert_int_equal(elf_section_find(elf, ".text", &text), 0);
	for (size_t i = 0; i < 50000; i++)
		offsets[i] = text.addr + text.size / 50000 * i;
	struct worker_object object = { .fd = fd, .kind = WORKER_ELF, .path = path, .root_fd = -1 };
	struct worker_ask ask = {
		.offsets = offsets,
		.count = 50000,
		.want_lines = true,
		.budget_ns = SECOND / 1000,
	};
	struct worker_counts counts, all;
	uint64_t before = now_ns();
	assert_int_equal(worker_symbolize(w, &object, &ask, ignore_symbol, NULL, &counts, &err), 0);
	uint64_t took = now_ns() - before;
	if (!counts.has_debug_file) {
		print_message("no debug file of the C library\n");
		skip();
	}
	assert_true(counts.is_budget_spent);
	ask.budget_ns = 60 * SECOND;
	assert_int_equal(worker_symbolize(w, &object, &ask, ignore_symbol, NULL, &all, &err), 0);
	assert_false(all.is_budget_spent);
	assert_true(counts.with_lines < all.with_lines);
	assert_true(counts.named > 45000);
	print_message("%zu of %zu lines in %llu us\n", counts.with_lines, all.with_lines,
		      (unsigned long long)took / 1000);
	assert_true(took < 2 * SECOND);
}

/* DWARF whose common parts dwz has moved to a file that two libraries share: nothing is lost. */
static void test_dwz(void **state)
{
	(void)state;
	char dir[] = "/tmp/accel-prof-test-XXXXXX", file[PATH_MAX];
	static const char path[] = "/lib/a.so";
	struct err err;

	if (system("dwz --version > /dev/null 2>&1") != 0) { /* NOLINT(cert-env33-c) */
		print_message("no dwz\n");
		skip();
	}
	assert_non_null(mkdtemp(dir));
	run("cd $D && printf 'static inline int leaf(int x) { return x * x + 1; }\n"
	    "static inline int middle(int x) { return x > 3 ? leaf(x) : leaf(x + 1) * 2; }\n"
	    "int outer_a(int x, int y) { return middle(x) + middle(y); }\n' > a.c && "
	    "sed s/outer_a/outer_b/ a.c > b.c && mkdir -p usr/lib/debug/.dwz && "
	    "for i in a b; do gcc -O2 -g -shared -fPIC -include stdio.h $i.c -o $i.so; done && "
	    "cp a.so whole.so && "
	    "dwz -m usr/lib/debug/.dwz/common -M /usr/lib/debug/.dwz/common a.so b.so",
	    dir);
	snprintf(file, sizeof(file), "%s/a.so", dir);
	CLEANUP_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
	snprintf(file, sizeof(file), "%s/whole.so", dir);
	CLEANUP_CLOSE int whole = open(file, O_RDONLY | O_CLOEXEC);
	CLEANUP_CLOSE int root = open(dir, O_PATH | O_CLOEXEC);
	run("cp -r $D $D.kept && rm -r $D/*.so $D/*.c", dir);

	CLEANUP(elf_symbols_close) struct elf_symbols *direct = NULL;
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	struct elf_section text;
	struct elf_symbols_wanted wanted;
	assert_int_equal(elf_open_fd(&elf, fd, path, 0, &err), 0);
	assert_int_equal(elf_section_find(elf, ".text", &text), 0);
	assert_int_equal(elf_symbols_open(&direct, whole, path, ELF_SYMBOLS_LINES, &err), 0);
	assert_false(elf_symbols_want_alt(direct, &wanted));
	assert_int_equal(elf_symbols_load(direct, &err), 0);

	uint64_t offsets[512];
	size_t count = 0;
	for (uint64_t at = text.addr; at < text.addr + text.size && count < 512; at++)
		offsets[count++] = at;
	CLEANUP(worker_free) struct worker *w = start();
	struct worker_object object = {
		.fd = fd, .kind = WORKER_ELF, .path = path, .root_fd = root
	};
	struct worker_ask ask = {
		.offsets = offsets,
		.count = count,
		.want_lines = true,
		.budget_ns = 10 * SECOND,
	};
	struct compare c = { .direct = direct, .want_lines = true };
	struct worker_counts counts;
	assert_int_equal(worker_symbolize(w, &object, &ask, compare_symbol, &c, &counts, &err), 0);
	assert_true(counts.with_lines > 20);
	run("rm -r $D $D.kept", dir);
}

/* Dies over DWARF, works without: as a libdw with a fault would. */
static int op_no_lines(struct worker_job *job, struct err *err)
{
	struct symbolize_args args;
	memcpy(&args, job->args, sizeof(args));
	if (args.want_lines)
		abort();
	return worker_symbolize_job(job, err);
}

static void test_names_survive_bad_dwarf(void **state)
{
	(void)state;
	static const struct worker_op replaced[] = { { "symbolize", op_no_lines } };
	CLEANUP(worker_free) struct worker *w = NULL;
	CLEANUP_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	CLEANUP(elf_symtab_free) struct elf_symtab *t = NULL;
	struct elf_symbol symbol;
	struct err err;
	assert_int_equal(worker_start_with(&w, replaced, 1, &err), 0);
	assert_int_equal(elf_open_fd(&elf, fd, "self", 0, &err), 0);
	assert_int_equal(elf_symtab_new(&t, elf, &err), 0);
	assert_int_equal(elf_symtab_find(t, "main", &symbol), 0);

	struct worker_object object = {
		.fd = fd, .kind = WORKER_ELF, .path = "self", .root_fd = -1
	};
	struct worker_ask ask = {
		.offsets = &symbol.value,
		.count = 1,
		.want_lines = true,
		.budget_ns = SECOND,
	};
	struct worker_counts counts;
	struct first first = { 0 };
	assert_int_equal(worker_symbolize(w, &object, &ask, take_first, &first, &counts, &err), 0);
	assert_string_equal(first.name, "main");
	assert_int_equal(first.line, 0);
	assert_true(counts.has_lines_failed);
	assert_int_equal(worker_restarts(w), 1);
}

/* An offset that was not asked for. */
static int op_forge(struct worker_job *job, struct err *err)
{
	struct {
		struct answer_head head;
		struct answer_symbol symbol;
		struct answer_line line;
		char strings[8];
	} forged = {
		.head = { .symbol_count = 1, .line_count = 1, .string_bytes = 8 },
		.symbol = { .offset_index = 7, .line_count = 1 },
		.line = { .name = 1, .file = UINT32_MAX },
		.strings = "\0forged",
	};
	return worker_job_write(job, &forged, sizeof(forged), err);
}

static void test_forged_answer(void **state)
{
	(void)state;
	static const struct worker_op replaced[] = { { "symbolize", op_forge } };
	CLEANUP(worker_free) struct worker *w = NULL;
	struct first first = { 0 };
	struct err err;
	assert_int_equal(worker_start_with(&w, replaced, 1, &err), 0);
	assert_int_equal(ask_one(w, STDIN_FILENO, WORKER_ELF, 0, &first, &err), -EPROTO);
	assert_string_equal(err.text, "reading '/x', the worker answered nonsense");
	assert_int_equal(first.count, 0);
	/* The one that did it is gone. */
	assert_int_equal(ask_one(w, STDIN_FILENO, WORKER_ELF, 0, &first, &err), -EPROTO);
	assert_int_equal(worker_restarts(w), 1);
}

/* The vDSO is an ELF file without a file. */
static void test_vdso(void **state)
{
	(void)state;
	unsigned long base = getauxval(AT_SYSINFO_EHDR);
	CLEANUP_FCLOSE FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned long begin, end = 0;
	if (!base)
		skip();
	while (fgets(line, sizeof(line), maps)) {
		assert_int_equal(sscanf(line, "%lx-%lx", &begin, &end), 2);
		if (begin == base)
			break;
	}
	CLEANUP_CLOSE int fd = memory_file((const void *)base, end - base);
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	CLEANUP(elf_symtab_free) struct elf_symtab *t = NULL;
	struct elf_symbol symbol;
	struct err err;
	assert_int_equal(elf_open_fd(&elf, fd, "[vdso]", 0, &err), 0);
	assert_int_equal(elf_symtab_new(&t, elf, &err), 0);
	assert_int_equal(elf_symtab_find(t, "__vdso_clock_gettime", &symbol), 0);

	CLEANUP(worker_free) struct worker *w = start();
	struct first first = { 0 };
	assert_int_equal(ask_one(w, fd, WORKER_ELF, symbol.value + 3, &first, &err), 0);
	/* The global one of its two names. */
	assert_string_equal(first.name, "__vdso_clock_gettime");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_direct),
		cmocka_unit_test(test_debuglink),
		cmocka_unit_test(test_debug_files_stay_in_root),
		cmocka_unit_test(test_perf_map),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_caller_stops),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_dwz),
		cmocka_unit_test(test_names_survive_bad_dwarf),
		cmocka_unit_test(test_forged_answer),
		cmocka_unit_test(test_vdso),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
