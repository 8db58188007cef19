/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copied stacks, laid out by hand: four functions at IMAGE_TEXT, mapped at BASE.
 *
 *	0x00	start: return address undefined
 *	0x20	outer: frame of 32 bytes, called from start+8
 *	0x40	inner: push rbp, 16 bytes more, called from outer+8
 *	0x60	odd:   cfa = rbx + 16 (what a row can say only of the innermost frame)
 */
#include "unwind/copy.h"

#include "image.h"
#include "unit.h"

#define BASE  0x7f0000000000ull
#define STACK 0x7ffe00000000ull
#define JIT   0x7e0000000000ull

/* Addresses behind calls in the process. */
#define IN_START (BASE + IMAGE_TEXT + 0x08)
#define IN_OUTER (BASE + IMAGE_TEXT + 0x28)
#define IN_INNER (BASE + IMAGE_TEXT + 0x48)
#define IN_ODD   (BASE + IMAGE_TEXT + 0x68)

struct world {
	struct image image;
	struct elf_file *elf;
	struct unwind_table table;
	struct unwind_object objects[2];
	struct unwind_mapping mappings[2];
	struct unwind_space space;
	uint64_t stack[64];
	uint64_t regs[UNWIND_REG_COUNT];
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct frames f = { 0 };
	struct err err;

	assert_non_null(w);
	uint32_t cie = frames_cie(&f, "zR");
	frames_fde(&f, cie, IMAGE_TEXT, 0x20, BYTES(0x07, 16));
	frames_fde(&f, cie, IMAGE_TEXT + 0x20, 0x20, BYTES(0x0e, 40));
	frames_fde(&f, cie, IMAGE_TEXT + 0x40, 0x20, BYTES(0x0e, 32, 0x86, 2));
	frames_fde(&f, cie, IMAGE_TEXT + 0x60, 0x20, BYTES(0x0c, 3, 16, 0x83, 2));
	w->image.frame = span_of(f.data, f.size);
	struct span file = image_finish(&w->image);
	uint8_t *code = w->image.bytes + IMAGE_BYTES;
	code[0x03] = 0xe8; /* call rel32, ending at 0x08 */
	code[0x26] = 0xff; /* call *%rax, ending at 0x28 */
	code[0x27] = 0xd0;
	code[0x43] = 0xe8;
	code[0x63] = 0xe8;
	assert_int_equal(elf_open_memory(&w->elf, file, "world", &err), 0);
	assert_int_equal(unwind_table_build(w->elf, &w->table, NULL, &err), 0);
	w->objects[1] = (struct unwind_object){ &w->table, w->elf };
	w->mappings[0] = (struct unwind_mapping){ .start = JIT,
						  .end = JIT + 0x1000,
						  .pages = UNWIND_NO_TABLE_JIT };
	w->mappings[1] = (struct unwind_mapping){ .start = BASE + IMAGE_TEXT,
						  .end = BASE + IMAGE_TEXT + 0x1000,
						  .base = BASE + w->table.base,
						  .table = 1,
						  .pages = w->table.pages };
	w->space = (struct unwind_space){ w->mappings, 2, w->objects, 2 };
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	unwind_table_release(&w->table);
	elf_close(w->elf);
	free(w);
	return 0;
}

/* The innermost frame is at @pc with its stack pointer at word 0; @words are copied. */
static struct unwind_walked walk(struct world *w, uint64_t pc, size_t words, uint64_t *ips)
{
	struct unwind_copy copy = {
		.state = { .pc = pc, .sp = STACK, .fp = 0x1234, .has_fp = 1, .is_leaf = 1 },
		.regs = w->regs,
		.stack_address = STACK,
		.stack = span_of(w->stack, words * 8),
	};
	struct unwind_walked walked;

	w->regs[UNWIND_REG_RA] = pc;
	w->regs[UNWIND_REG_SP] = STACK;
	w->regs[UNWIND_REG_FP] = 0x1234;
	const struct unwind_copy_walk to = { ips, 16, unwind_libunwind_walk, NULL };
	unwind_copy_walk(&w->space, &copy, &to, &walked);
	return walked;
}

/* inner -> outer -> start: 32 bytes with the return address last, then 40. */
static void test_rows(void **state)
{
	struct world *w = *state;
	uint64_t ips[16];

	w->stack[3] = IN_OUTER;
	w->stack[8] = IN_START;
	struct unwind_walked walked = walk(w, IN_INNER, 64, ips);
	assert_int_equal(walked.end, UNWIND_ROOT);
	assert_int_equal(walked.count, 2);
	assert_int_equal(ips[0], IN_OUTER);
	assert_int_equal(ips[1], IN_START);
	assert_false(walked.used_scan);
	assert_false(walked.used_libunwind);

	/* A copy that ends before the second return address; one that ends within it. */
	walked = walk(w, IN_INNER, 8, ips);
	assert_int_equal(walked.end, UNWIND_UNREADABLE);
	assert_int_equal(walked.count, 1);
	walked = walk(w, IN_INNER, 0, ips);
	assert_int_equal(walked.end, UNWIND_UNREADABLE);
	assert_int_equal(walked.count, 0);
}

/* A piece that could not be read is not taken for zeros; a word that begins before it is not whole. */
static void test_hole(void **state)
{
	static uint8_t bytes[3 * UNWIND_COPY_PIECE];
	struct unwind_copy copy = {
		.stack_address = STACK,
		.stack = span_of(bytes, sizeof(bytes)),
		.missing = { 1u << 1 },
	};
	uint64_t word;

	(void)state;
	memset(bytes, 0x11, sizeof(bytes));
	assert_int_equal(unwind_copy_word(&copy, STACK + 1016, &word), 0);
	assert_int_equal(word, 0x1111111111111111);
	assert_int_not_equal(unwind_copy_word(&copy, STACK + 1017, &word), 0);
	assert_int_not_equal(unwind_copy_word(&copy, STACK + 1024, &word), 0);
	assert_int_not_equal(unwind_copy_word(&copy, STACK + 2047, &word), 0);
	assert_int_equal(unwind_copy_word(&copy, STACK + 2048, &word), 0);
	assert_int_not_equal(unwind_copy_word(&copy, STACK + 3072 - 7, &word), 0);
	assert_int_not_equal(unwind_copy_word(&copy, STACK - 1, &word), 0);
}

/* Innermost in code made at run time: only what follows an indirect call may be its caller. */
static void test_scan_jit(void **state)
{
	struct world *w = *state;
	uint64_t ips[16];

	w->stack[1] = IN_INNER;                 /* left over from a direct call */
	w->stack[2] = BASE + IMAGE_TEXT + 0x30; /* code, but behind no call */
	w->stack[4] = IN_OUTER;
	w->stack[9] = IN_START;
	struct unwind_walked walked = walk(w, JIT + 0x10, 64, ips);
	assert_int_equal(walked.end, UNWIND_ROOT);
	assert_true(walked.used_scan);
	assert_int_equal(walked.count, 2);
	assert_int_equal(ips[0], IN_OUTER);
	assert_int_equal(ips[1], IN_START);
}

/* A word that looks like a return address but leads nowhere is passed over. */
static void test_scan_dead_end(void **state)
{
	struct world *w = *state;
	uint64_t ips[16];

	w->stack[1] = IN_OUTER;
	w->stack[6] = 0x4141414141414141; /* what outer would return to */
	w->stack[8] = IN_OUTER;
	w->stack[13] = IN_START;
	struct unwind_walked walked = walk(w, JIT + 0x10, 64, ips);
	assert_int_equal(walked.end, UNWIND_ROOT);
	assert_int_equal(walked.count, 2);
	assert_int_equal(ips[1], IN_START);
}

static void test_scan_nothing(void **state)
{
	struct world *w = *state;
	uint64_t ips[16];

	struct unwind_walked walked = walk(w, JIT + 0x10, 64, ips);
	assert_int_equal(walked.end, UNWIND_NO_ROW);
	assert_int_equal(walked.count, 0);
	assert_false(walked.used_scan);
}

/* cfa = rbx + 16 on the innermost frame is in the registers. */
static void test_register(void **state)
{
	struct world *w = *state;
	uint64_t ips[16];

	w->regs[3] = STACK + 5 * 8;
	w->stack[6] = IN_OUTER;
	w->stack[11] = IN_START;
	struct unwind_walked walked = walk(w, IN_ODD, 64, ips);
	assert_int_equal(walked.end, UNWIND_ROOT);
	assert_int_equal(walked.count, 2);
	assert_int_equal(ips[0], IN_OUTER);
}

/* What a handler interrupted is on another stack than the handler, which is all that there is. */
static void test_signal_stack(void **state)
{
	struct world *w = *state;
	const struct unwind_copy copy = {
		.state = { .pc = IN_INNER,
			   .sp = STACK - (1 << 20),
			   .signal_regs = STACK + 8,
			   .is_leaf = 1 },
		.regs = w->regs,
		.stack_address = STACK,
		.stack = span_of(w->stack, sizeof(w->stack)),
	};
	uint64_t ips[16];
	const struct unwind_copy_walk to = { ips, 16, NULL, NULL };
	struct unwind_walked walked;

	/* struct ucontext of <sys/ucontext.h>: ss_sp at 16, ss_size at 32. */
	w->stack[1 + 2] = STACK - 4096;
	w->stack[1 + 4] = 8192;
	unwind_copy_walk(&w->space, &copy, &to, &walked);
	assert_int_equal(walked.end, UNWIND_UNREADABLE);
	assert_true(walked.left_signal_stack);
	/* There is such a stack, but the handler was not on it; then none at all. */
	w->stack[1 + 2] = STACK - (2 << 20);
	unwind_copy_walk(&w->space, &copy, &to, &walked);
	assert_false(walked.left_signal_stack);
	w->stack[1 + 2] = w->stack[1 + 4] = 0;
	unwind_copy_walk(&w->space, &copy, &to, &walked);
	assert_int_equal(walked.end, UNWIND_UNREADABLE);
	assert_false(walked.left_signal_stack);
}

static void test_calls(void **state)
{
	(void)state;
	/* Encodings from the Intel SDM; the bytes end where the call does. */
	static const struct {
		uint8_t code[UNWIND_CALL_BYTES];
		bool is_call, is_indirect;
	} cases[] = {
		{ { 0, 0, 0, 0xe8, 1, 2, 3, 4 }, true, false },
		{ { 0, 0, 0, 0, 0, 0, 0xff, 0xd2 }, true, true },       /* *%rdx */
		{ { 0, 0, 0, 0, 0, 0x41, 0xff, 0xd3 }, true, true },    /* *%r11 */
		{ { 0, 0, 0, 0, 0, 0, 0xff, 0x10 }, true, true },       /* *(%rax) */
		{ { 0, 0, 0, 0, 0, 0xff, 0x14, 0xd8 }, true, true },    /* *(%rax,%rbx,8) */
		{ { 0, 0, 0, 0, 0, 0xff, 0x50, 0x18 }, true, true },    /* *0x18(%rax) */
		{ { 0, 0, 0, 0, 0xff, 0x54, 0xd8, 0x08 }, true, true }, /* *8(%rax,%rbx,8) */
		{ { 0, 0, 0xff, 0x15, 1, 2, 3, 4 }, true, true },       /* *0x4030201(%rip) */
		{ { 0, 0, 0xff, 0x90, 1, 2, 3, 4 }, true, true },       /* *0x4030201(%rax) */
		{ { 0, 0xff, 0x94, 0xd8, 1, 2, 3, 4 }, true, true },    /* with a SIB */
		{ { 0, 0, 0, 0, 0, 0, 0xff, 0xe0 }, false, false },     /* jmp *%rax */
		{ { 0, 0, 0, 0, 0, 0, 0xff, 0x30 }, false, false },     /* push (%rax) */
		{ { 0, 0, 0, 0xe9, 1, 2, 3, 4 }, false, false },        /* jmp */
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 }, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(unwind_call_ends(cases[i].code, false), cases[i].is_call);
		assert_int_equal(unwind_call_ends(cases[i].code, true), cases[i].is_indirect);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
		cmocka_unit_test(test_hole),
		cmocka_unit_test_setup_teardown(test_scan_jit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scan_dead_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scan_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_register, setup, teardown),
		cmocka_unit_test_setup_teardown(test_signal_stack, setup, teardown),
		cmocka_unit_test(test_calls),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
