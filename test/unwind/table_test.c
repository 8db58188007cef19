/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables from call frame information written by hand. What is expected follows from the DWARF 5
 * standard (6.4.2), the LSB's .eh_frame and the System V ABI's register numbers, by hand.
 */
#include "unwind/table.h"

#include "image.h"
#include "unit.h"

#include <errno.h>

struct expected {
	uint32_t address;
	enum unwind_cfa cfa;
	uint16_t param;
	enum unwind_fp fp;
	int8_t fp_offset;
};

static int build(struct image *image, struct unwind_table *table, struct unwind_stats *stats)
{
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	struct err err = { 0 };

	assert_int_equal(elf_open_memory(&elf, image_finish(image), "image", &err), 0);
	int rc = unwind_table_build(elf, table, stats, &err);
	if (rc == 0)
		assert_int_equal(unwind_table_check(table, &err), 0);
	return rc;
}

static void check_rows(const struct unwind_table *table, const struct expected *e, size_t count)
{
	const struct unwind_cell *rows = table->cells + table->pages;

	for (size_t i = 0; i < count && i < table->rows; i++) {
		const struct unwind_row *r = &rows[i].row;
		assert_int_equal(table->base + r->pc, e[i].address);
		assert_int_equal(unwind_row_cfa(r), e[i].cfa);
		assert_int_equal(r->param, e[i].param);
		assert_int_equal(unwind_row_fp(r), e[i].fp);
		assert_int_equal(r->fp, e[i].fp_offset);
	}
	assert_int_equal(table->rows, count);
}

/* The table of one function of 0x40 bytes at IMAGE_TEXT with these instructions. */
static void check_function(const char *letters, const uint8_t *code, size_t size,
			   const struct expected *e, size_t count)
{
	CLEANUP(unwind_table_release) struct unwind_table table = { 0 };
	struct frames f = { 0 };
	struct image image = { 0 };
	uint32_t cie = frames_cie(&f, letters);

	frames_fde(&f, cie, IMAGE_TEXT, 0x40, code, size);
	image.frame = span_of(f.data, f.size);
	assert_int_equal(build(&image, &table, NULL), 0);
	check_rows(&table, e, count);
}

#define CHECK(letters, code, ...)                                               \
	check_function(letters, code, (const struct expected[]){ __VA_ARGS__ }, \
		       ARRAY_SIZE(((const struct expected[]){ __VA_ARGS__ })))
#define END                                                             \
	{                                                               \
		IMAGE_TEXT + 0x40, UNWIND_CFA_END, 0, UNWIND_FP_SAME, 0 \
	}

/* push %rbp; mov %rsp,%rbp; ...; pop %rbp; ret: the example of every textbook. */
static void test_frame_pointer(void **state)
{
	(void)state;
	CHECK("zR",
	      BYTES(0x41, 0x0e, 16, 0x86, 2, /* +1: offset 16, rbp at cfa-16 */
		    0x43, 0x0d, 6,           /* +3: register rbp */
		    0x02, 0x30, 0x0c, 7, 8 /* +48: rsp+8 */),
	      { IMAGE_TEXT, UNWIND_CFA_SP, 1, UNWIND_FP_SAME, 0 },
	      { IMAGE_TEXT + 1, UNWIND_CFA_SP, 2, UNWIND_FP_CFA, -2 },
	      { IMAGE_TEXT + 4, UNWIND_CFA_FP, 2, UNWIND_FP_CFA, -2 },
	      { IMAGE_TEXT + 0x34, UNWIND_CFA_SP, 1, UNWIND_FP_CFA, -2 }, END);
}

static void test_advance(void **state)
{
	(void)state;
	/* advance_loc1 2, advance_loc2 0x10, advance_loc4 8, GNU_args_size in between; equal
	 * states make one row, a change without an advance replaces the last. */
	CHECK("zR",
	      BYTES(0x02, 2, 0x0e, 16, 0x2e, 24, 0x03, 0x10, 0, 0x0e, 16, 0x04, 8, 0, 0, 0, 0x0e,
		    24, 0x0e, 32),
	      { IMAGE_TEXT, UNWIND_CFA_SP, 1, UNWIND_FP_SAME, 0 },
	      { IMAGE_TEXT + 2, UNWIND_CFA_SP, 2, UNWIND_FP_SAME, 0 },
	      { IMAGE_TEXT + 0x1a, UNWIND_CFA_SP, 4, UNWIND_FP_SAME, 0 }, END);
	/* An advance beyond the function ends it. */
	CHECK("zR", BYTES(0x02, 0x41, 0x0e, 16),
	      { IMAGE_TEXT, UNWIND_CFA_SP, 1, UNWIND_FP_SAME, 0 }, END);
}

static void test_remember(void **state)
{
	(void)state;
	/* offset 16, rbp saved; remember, pop everything, restore: an early return. */
	CHECK("zR",
	      BYTES(0x41, 0x0e, 16, 0x86, 2, 0x44, 0x0a, 0x0e, 8, 0xc6, 0x41, 0x0b, 0x42, 0xc6),
	      { IMAGE_TEXT, UNWIND_CFA_SP, 1, UNWIND_FP_SAME, 0 },
	      { IMAGE_TEXT + 1, UNWIND_CFA_SP, 2, UNWIND_FP_CFA, -2 },
	      { IMAGE_TEXT + 5, UNWIND_CFA_SP, 1, UNWIND_FP_SAME, 0 },
	      { IMAGE_TEXT + 6, UNWIND_CFA_SP, 2, UNWIND_FP_CFA, -2 },
	      { IMAGE_TEXT + 8, UNWIND_CFA_SP, 2, UNWIND_FP_SAME, 0 }, END);
	/* Nothing remembered: from there on it is not known. */
	CHECK("zR", BYTES(0x44, 0x0b), { IMAGE_TEXT, UNWIND_CFA_SP, 1, UNWIND_FP_SAME, 0 },
	      { IMAGE_TEXT + 4, UNWIND_CFA_UNSUPPORTED, 0, UNWIND_FP_SAME, 0 }, END);
}

/* gcc's realigned stack: lea 8(%rsp),%r10; and $-32,%rsp; push -8(%r10); push %rbp; mov %rsp,%rbp;
 * push %r10; ...; with the expressions that it writes. */
static void test_drap(void **state)
{
	(void)state;
	CHECK("zR",
	      BYTES(0x45, 0x0c, 10, 0,         /* +5: r10 + 0 */
		    0x49, 0x10, 6, 2, 0x76, 0, /* +9: rbp at *(rbp+0) */
		    0x42, 0x0f, 3, 0x76, 0x78, 6 /* +2: cfa = *(rbp-8) */),
	      { IMAGE_TEXT, UNWIND_CFA_SP, 1, UNWIND_FP_SAME, 0 },
	      { IMAGE_TEXT + 5, UNWIND_CFA_REG, 10, UNWIND_FP_SAME, 0 },
	      { IMAGE_TEXT + 14, UNWIND_CFA_REG, 10, UNWIND_FP_DEREF, 0 },
	      { IMAGE_TEXT + 16, UNWIND_CFA_DEREF_FP, 0xff, UNWIND_FP_DEREF, 0 }, END);
	/* OpenSSL: cfa = *(rsp+24) + 8. */
	CHECK("zR", BYTES(0x0f, 5, 0x77, 24, 6, 0x23, 8),
	      { IMAGE_TEXT, UNWIND_CFA_DEREF_SP, 3 | 1 << 8, UNWIND_FP_SAME, 0 }, END);
}

static void test_plt(void **state)
{
	(void)state;
	/* What ld writes for .plt: rsp+16, +24 after the first push, then the expression. */
	CHECK("zR",
	      BYTES(0x0e, 16, 0x46, 0x0e, 24, 0x4a, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b,
		    0x2a, 0x33, 0x24, 0x22),
	      { IMAGE_TEXT, UNWIND_CFA_SP, 2, UNWIND_FP_SAME, 0 },
	      { IMAGE_TEXT + 6, UNWIND_CFA_SP, 3, UNWIND_FP_SAME, 0 },
	      { IMAGE_TEXT + 16, UNWIND_CFA_PLT, 11, UNWIND_FP_SAME, 0 }, END);
}

/* glibc's __restore_rt, and one whose registers are somewhere else. */
static void test_signal(void **state)
{
	(void)state;
	struct expected good = { IMAGE_TEXT + 0x10, UNWIND_CFA_SP, 1, UNWIND_FP_SAME, 0 };
	CLEANUP(unwind_table_release) struct unwind_table table = { 0 };
	struct frames f = { 0 };
	struct image image = { 0 };
	uint32_t plain = frames_cie(&f, "zR"), signal = frames_cie(&f, "zRS");

	frames_fde(&f, plain, IMAGE_TEXT + 0x10, 0x10, NULL, 0);
	frames_fde(&f, signal, IMAGE_TEXT + 0x20, 0x10, BYTES(0x0f, 4, 0x77, 0xa0, 1, 6));
	frames_fde(&f, signal, IMAGE_TEXT + 0x40, 0x10, BYTES(0x0f, 4, 0x77, 0xb0, 1, 6));
	image.frame = span_of(f.data, f.size);
	assert_int_equal(build(&image, &table, NULL), 0);
	struct expected e[] = {
		good,
		{ IMAGE_TEXT + 0x1f, UNWIND_CFA_SIGNAL, 0, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x30, UNWIND_CFA_END, 0, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x3f, UNWIND_CFA_UNSUPPORTED, 0, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x50, UNWIND_CFA_END, 0, UNWIND_FP_SAME, 0 },
	};
	check_rows(&table, e, ARRAY_SIZE(e));
}

static void test_return_address(void **state)
{
	(void)state;
	/* undefined: _start */
	CHECK("zR", BYTES(0x07, 16), { IMAGE_TEXT, UNWIND_CFA_STOP, 0, UNWIND_FP_SAME, 0 }, END);
	/* vfork: pop %rdi; return address in rdi (5), cfa = rsp+0 */
	CHECK("zR", BYTES(0x41, 0x0e, 0, 0x09, 16, 5),
	      { IMAGE_TEXT, UNWIND_CFA_SP, 1, UNWIND_FP_SAME, 0 },
	      { IMAGE_TEXT + 1, UNWIND_CFA_RA_REG, 5, UNWIND_FP_SAME, 0 }, END);
	/* setcontext: at cfa+168 */
	CHECK("zR", BYTES(0x11, 16, 0x6b),
	      { IMAGE_TEXT, UNWIND_CFA_UNSUPPORTED, 0, UNWIND_FP_SAME, 0 }, END);
}

/* What a row cannot say must not become something that it can. */
static void test_unsupported(void **state)
{
	(void)state;
	CHECK("zR", BYTES(0x0e, 12), /* not a multiple of 8 */
	      { IMAGE_TEXT, UNWIND_CFA_UNSUPPORTED, 0, UNWIND_FP_SAME, 0 }, END);
	CHECK("zR", BYTES(0x0e, 0xf8, 0xff, 0x1f), /* 0x7fff8: the largest */
	      { IMAGE_TEXT, UNWIND_CFA_SP, 0xffff, UNWIND_FP_SAME, 0 }, END);
	CHECK("zR", BYTES(0x0e, 0x80, 0x80, 0x20), /* 0x80000: one more */
	      { IMAGE_TEXT, UNWIND_CFA_UNSUPPORTED, 0, UNWIND_FP_SAME, 0 }, END);
	CHECK("zR", BYTES(0x86, 0x80, 1), /* rbp at cfa-1024: the farthest */
	      { IMAGE_TEXT, UNWIND_CFA_SP, 1, UNWIND_FP_CFA, -128 }, END);
	CHECK("zR", BYTES(0x86, 0x81, 1), /* cfa-1032 */
	      { IMAGE_TEXT, UNWIND_CFA_SP, 1, UNWIND_FP_UNKNOWN, 0 }, END);
	CHECK("zR", BYTES(0x09, 6, 3), /* rbp in rbx */
	      { IMAGE_TEXT, UNWIND_CFA_SP, 1, UNWIND_FP_UNKNOWN, 0 }, END);
	CHECK("zR", BYTES(0x16, 6, 2, 0x77, 8), /* rbp = rsp+8 */
	      { IMAGE_TEXT, UNWIND_CFA_SP, 1, UNWIND_FP_UNKNOWN, 0 }, END);
	CHECK("zR", BYTES(0x09, 7, 8), /* longjmp: rsp in r8 */
	      { IMAGE_TEXT, UNWIND_CFA_UNSUPPORTED, 0, UNWIND_FP_SAME, 0 }, END);
	CHECK("zR", BYTES(0x0f, 3, 0x77, 8, 0x96), /* expression with a nop */
	      { IMAGE_TEXT, UNWIND_CFA_UNSUPPORTED, 0, UNWIND_FP_SAME, 0 }, END);
	CHECK("zR", BYTES(0x44, 0x3f), /* an instruction nobody knows */
	      { IMAGE_TEXT, UNWIND_CFA_SP, 1, UNWIND_FP_SAME, 0 },
	      { IMAGE_TEXT + 4, UNWIND_CFA_UNSUPPORTED, 0, UNWIND_FP_SAME, 0 }, END);
	CHECK("zR",
	      BYTES(0x44, 0x0e), /* its operand is padding: rsp+0 is no frame, but it says so */
	      { IMAGE_TEXT, UNWIND_CFA_SP, 1, UNWIND_FP_SAME, 0 },
	      { IMAGE_TEXT + 4, UNWIND_CFA_SP, 0, UNWIND_FP_SAME, 0 }, END);
}

/* Padding between functions is covered by the one before, larger gaps by none. */
static void test_gaps(void **state)
{
	(void)state;
	CLEANUP(unwind_table_release) struct unwind_table table = { 0 };
	struct unwind_stats stats;
	struct frames f = { 0 };
	struct image image = { .entry = IMAGE_TEXT + 0x68 };
	uint32_t cie = frames_cie(&f, "zR");

	frames_fde(&f, cie, IMAGE_TEXT + 0x10, 0x11, BYTES(0x44, 0x0e, 16));
	frames_fde(&f, cie, IMAGE_TEXT + 0x30, 0x10, BYTES(0x44, 0x0e, 24)); /* 15 bytes later */
	frames_fde(&f, cie, IMAGE_TEXT + 0x50, 0x08, NULL, 0);               /* 16 bytes later */
	frames_fde(&f, cie, IMAGE_TEXT + 0x80, 0x10, NULL, 0); /* the entry in between */
	image.frame = span_of(f.data, f.size);
	assert_int_equal(build(&image, &table, &stats), 0);
	struct expected e[] = {
		{ IMAGE_TEXT + 0x10, UNWIND_CFA_SP, 1, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x14, UNWIND_CFA_SP, 2, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x30, UNWIND_CFA_SP, 1, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x34, UNWIND_CFA_SP, 3, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x40, UNWIND_CFA_END, 0, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x50, UNWIND_CFA_SP, 1, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x58, UNWIND_CFA_END, 0, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x68, UNWIND_CFA_STOP, 0, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x80, UNWIND_CFA_SP, 1, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x90, UNWIND_CFA_END, 0, UNWIND_FP_SAME, 0 },
	};
	check_rows(&table, e, ARRAY_SIZE(e));
	assert_int_equal(stats.fdes, 4);
	assert_int_equal(stats.covered_bytes, 0x11 + 0x10 + 0x08 + 0x10);

	/* And what a lookup says. */
	assert_null(unwind_table_find(&table, IMAGE_TEXT + 0x0f));
	assert_null(unwind_table_find(&table, 0));
	assert_int_equal(unwind_table_find(&table, IMAGE_TEXT + 0x13)->param, 1);
	assert_int_equal(unwind_table_find(&table, IMAGE_TEXT + 0x2f)->param, 2);
	assert_int_equal(unwind_row_cfa(unwind_table_find(&table, IMAGE_TEXT + 0x90)),
			 UNWIND_CFA_END);
	assert_null(unwind_table_find(&table, IMAGE_TEXT + 0x3000));
	assert_null(unwind_table_find(&table, UINT64_MAX));
}

/* A function that begins inside another one ends it; two at one place: the first. */
static void test_overlap(void **state)
{
	(void)state;
	CLEANUP(unwind_table_release) struct unwind_table table = { 0 };
	struct frames f = { 0 };
	struct image image = { 0 };
	uint32_t cie = frames_cie(&f, "zR");

	/* Not in order: the list has to be sorted. */
	frames_fde(&f, cie, IMAGE_TEXT + 0x20, 0x10, BYTES(0x0e, 24));
	frames_fde(&f, cie, IMAGE_TEXT, 0x100, BYTES(0x50, 0x0e, 16, 0x60, 0x0e, 48));
	frames_fde(&f, cie, IMAGE_TEXT + 0x20, 0x20, BYTES(0x0e, 32));
	/* Outside the code, of no size, beyond its end: left out, left out, cut. */
	frames_fde(&f, cie, IMAGE_TEXT + IMAGE_TEXT_BYTES, 0x10, NULL, 0);
	frames_fde(&f, cie, IMAGE_TEXT + 0x200, 0, NULL, 0);
	frames_fde(&f, cie, IMAGE_TEXT + IMAGE_TEXT_BYTES - 8, 0x100, NULL, 0);
	image.frame = span_of(f.data, f.size);
	assert_int_equal(build(&image, &table, NULL), 0);
	struct expected e[] = {
		{ IMAGE_TEXT, UNWIND_CFA_SP, 1, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x10, UNWIND_CFA_SP, 2, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x20, UNWIND_CFA_SP, 3, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x30, UNWIND_CFA_END, 0, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + IMAGE_TEXT_BYTES - 8, UNWIND_CFA_SP, 1, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + IMAGE_TEXT_BYTES, UNWIND_CFA_END, 0, UNWIND_FP_SAME, 0 },
	};
	check_rows(&table, e, ARRAY_SIZE(e));
}

static void hdr_put(struct frames *hdr, uint32_t pc, uint32_t fde)
{
	frames_u32(hdr, pc - IMAGE_HDR);
	frames_u32(hdr, IMAGE_FRAME + fde - IMAGE_HDR);
}

static void hdr_begin(struct frames *hdr, uint32_t count)
{
	frames_put(hdr, BYTES(1, 0x1b, 0x03, 0x3b));
	frames_u32(hdr, IMAGE_FRAME - (IMAGE_HDR + 4));
	frames_u32(hdr, count);
}

/* .eh_frame_hdr is used when it is right, found without sections, and not believed when wrong. */
static void test_search_table(void **state)
{
	(void)state;
	struct expected e[] = {
		{ IMAGE_TEXT, UNWIND_CFA_SP, 1, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x10, UNWIND_CFA_SP, 3, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x20, UNWIND_CFA_END, 0, UNWIND_FP_SAME, 0 },
	};

	for (int wrong = 0; wrong < 5; wrong++) {
		CLEANUP(unwind_table_release) struct unwind_table table = { 0 };
		struct unwind_stats stats;
		struct frames f = { 0 }, hdr = { 0 };
		struct image image = { .no_sections = wrong == 4 };
		uint32_t cie = frames_cie(&f, "zR");
		uint32_t second = frames_fde(&f, cie, IMAGE_TEXT + 0x10, 0x10, BYTES(0x0e, 24));
		uint32_t first = frames_fde(&f, cie, IMAGE_TEXT, 0x10, NULL, 0);

		frames_u32(&f, 0);
		hdr_begin(&hdr, wrong == 3 ? 0x1000 : 2);
		/* 1: an entry names another's FDE; 2: not in order; 3: more than there are. */
		hdr_put(&hdr, wrong == 2 ? IMAGE_TEXT + 0x10 : IMAGE_TEXT,
			wrong == 1 || wrong == 2 ? second : first);
		hdr_put(&hdr, wrong == 2 ? IMAGE_TEXT : IMAGE_TEXT + 0x10,
			wrong == 2 ? first : second);
		image.frame = span_of(f.data, f.size);
		image.hdr = span_of(hdr.data, hdr.size);
		assert_int_equal(build(&image, &table, &stats), 0);
		check_rows(&table, e, ARRAY_SIZE(e));
		assert_int_equal(stats.used_search_table, wrong == 0 || wrong == 4);
	}
}

/* .debug_frame for what .eh_frame leaves out, which is believed where both speak. */
static void test_debug_frame(void **state)
{
	(void)state;
	CLEANUP(unwind_table_release) struct unwind_table table = { 0 };
	struct unwind_stats stats;
	struct frames f = { 0 }, d = { 0 };
	struct image image = { 0 };
	uint32_t cie = frames_cie(&f, "zR");
	uint64_t range[2];

	frames_fde(&f, cie, IMAGE_TEXT + 0x40, 0x10, BYTES(0x0e, 40));

	/* DWARF 4's CIE: id -1, version 4, address size 8, segment size 0. */
	frames_u32(&d, 0);
	frames_u32(&d, UINT32_MAX);
	frames_put(&d, BYTES(4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1));
	frames_close(&d, 0);
	for (unsigned i = 0; i < 3; i++) {
		size_t start = d.size;
		frames_u32(&d, 0);
		frames_u32(&d, 0);
		/* The last one is of a function that the linker threw away. */
		range[0] = i == 2 ? 0 : IMAGE_TEXT + 0x30 + 0x10 * i;
		range[1] = 0x10;
		frames_put(&d, range, sizeof(range));
		frames_put(&d, BYTES(0x0e, 16));
		frames_close(&d, start);
	}
	image.frame = span_of(f.data, f.size);
	image.debug = span_of(d.data, d.size);
	assert_int_equal(build(&image, &table, &stats), 0);
	struct expected e[] = {
		{ IMAGE_TEXT + 0x30, UNWIND_CFA_SP, 2, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x40, UNWIND_CFA_SP, 5, UNWIND_FP_SAME, 0 },
		{ IMAGE_TEXT + 0x50, UNWIND_CFA_END, 0, UNWIND_FP_SAME, 0 },
	};
	check_rows(&table, e, ARRAY_SIZE(e));
	assert_true(stats.used_debug_frame);
}

static void test_nothing(void **state)
{
	(void)state;
	struct unwind_table table = { 0 };
	struct image image = { 0 };

	assert_int_equal(build(&image, &table, NULL), -ENOENT);
	assert_null(table.cells);
}

/* More pages than one: the index finds rows of earlier pages too. */
static void test_pages(void **state)
{
	(void)state;
	CLEANUP(unwind_table_release) struct unwind_table table = { 0 };
	struct frames f = { 0 };
	struct image image = { 0 };
	uint32_t cie = frames_cie(&f, "zR");

	frames_fde(&f, cie, IMAGE_TEXT + 0x400, 0x1000, BYTES(0x41, 0x0e, 16));
	frames_fde(&f, cie, IMAGE_TEXT + 0x1400, 0x10, BYTES(0x0e, 24));
	image.frame = span_of(f.data, f.size);
	assert_int_equal(build(&image, &table, NULL), 0);
	assert_int_equal(table.base, IMAGE_TEXT + 0x400);
	assert_int_equal(unwind_table_find(&table, IMAGE_TEXT + 0x400)->param, 1);
	assert_int_equal(unwind_table_find(&table, IMAGE_TEXT + 0x401)->param, 2);
	assert_int_equal(unwind_table_find(&table, IMAGE_TEXT + 0xfff)->param, 2);
	assert_int_equal(unwind_table_find(&table, IMAGE_TEXT + 0x13ff)->param, 2);
	assert_int_equal(unwind_table_find(&table, IMAGE_TEXT + 0x1400)->param, 3);
}

/* Each thing that unwind_table_check() is there for. */
static void test_check(void **state)
{
	(void)state;
	struct unwind_cell good[] = {
		{ .index = { 0, 2 } },
		{ .index = { 2, 1 } },
		{ .row = { .pc = 4, .rule = UNWIND_CFA_SP } },
		{ .row = { .pc = 1023, .rule = UNWIND_CFA_PLT } },
		{ .row = { .pc = 1024, .rule = UNWIND_CFA_END } },
	};
	struct unwind_cell bad[ARRAY_SIZE(good)];
	struct unwind_table t = { .pages = 2, .rows = 3, .cells = bad };
	struct err err;

#define BAD(change)                                                       \
	memcpy(bad, good, sizeof(bad));                                   \
	t = (struct unwind_table){ .pages = 2, .rows = 3, .cells = bad }; \
	change;                                                           \
	assert_int_equal(unwind_table_check(&t, &err), -EBADMSG)

	memcpy(bad, good, sizeof(bad));
	assert_int_equal(unwind_table_check(&t, &err), 0);
	BAD(bad[2].row.pc = 1023);
	BAD(bad[3].row.pc = 1024);
	BAD(bad[4].row.pc = 1023);
	BAD(bad[4].row.pc = 2048);
	BAD(bad[0].index.count = 1);
	BAD(bad[0].index.count = 3);
	BAD(bad[1].index.count = UINT32_MAX);
	BAD(bad[1].index.first = 1);
	BAD(bad[3].row.rule = UNWIND_CFA_COUNT);
	BAD(bad[3].row.rule = 4 << 4);
	BAD(t.rows = 0);
	BAD(t.rows = 2);
	BAD(t.pages = 0);
	BAD(t.base = 1);
	BAD(t.base = UINT64_MAX - 1023);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame_pointer),
		cmocka_unit_test(test_advance),
		cmocka_unit_test(test_remember),
		cmocka_unit_test(test_drap),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_return_address),
		cmocka_unit_test(test_unsupported),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_search_table),
		cmocka_unit_test(test_debug_frame),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_check),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
