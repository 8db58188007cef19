/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instruction lengths. Single cases are from the Intel SDM's opcode descriptions; over whole
 * libraries objdump is the judge: every length claimed must be its length.
 */
#include "accel/x86.h"

#include "unit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES(...) \
	span_of((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static unsigned int length_of(struct span code)
{
	struct x86_insn insn;

	return x86_decode(code, &insn);
}

static void test_lengths(void **state)
{
	(void)state;
	assert_int_equal(length_of(BYTES(0x90)), 1);
	assert_int_equal(length_of(BYTES(0x41, 0x54)), 2);                /* push %r12 */
	assert_int_equal(length_of(BYTES(0xf3, 0x0f, 0x1e, 0xfa)), 4);    /* endbr64 */
	assert_int_equal(length_of(BYTES(0x48, 0x8b, 5, 1, 2, 3, 4)), 7); /* mov d(%rip),%rax */
	assert_int_equal(length_of(BYTES(0x44, 0x8b, 0x54, 0x24, 0x10)),
			 5); /* mov 16(%rsp),%r10d */
	assert_int_equal(length_of(BYTES(0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8)), 10); /* movabs */
	assert_int_equal(length_of(BYTES(0x66, 0xb8, 1, 2)), 4);                    /* mov $,%ax */
	assert_int_equal(length_of(BYTES(0x48, 0x81, 0xec, 0, 1, 0, 0)), 7); /* sub $256,%rsp */
	assert_int_equal(length_of(BYTES(0x0f, 0x84, 1, 2, 3, 4)), 6);       /* je */
	assert_int_equal(length_of(BYTES(0xf6, 0x47, 8, 1)), 4);             /* testb $1,8(%rdi) */
	assert_int_equal(length_of(BYTES(0xf6, 0x5f, 8)), 3);                /* negb 8(%rdi) */
	assert_int_equal(length_of(BYTES(0x8b, 0x04, 0x25, 1, 2, 3, 4)), 7); /* mov abs32,%eax */
	assert_int_equal(length_of(BYTES(0x66, 0x0f, 0x3a, 0x0f, 0xc1, 8)), 6); /* palignr */
}

static void test_operands(void **state)
{
	struct x86_insn insn;

	(void)state;
	/* mov %r9,-0x18(%rsp) */
	assert_int_equal(x86_decode(BYTES(0x4c, 0x89, 0x4c, 0x24, 0xe8), &insn), 5);
	assert_int_equal(insn.reg, 9);
	assert_true(insn.has_memory);
	assert_int_equal(insn.base, X86_RSP);
	assert_false(insn.has_index);
	assert_int_equal(insn.disp, -0x18);
	/* mov %rdx,%r12 */
	assert_int_equal(x86_decode(BYTES(0x49, 0x89, 0xd4), &insn), 3);
	assert_int_equal(insn.reg, 2);
	assert_int_equal(insn.rm, 12);
	assert_false(insn.has_memory);
	/* lea 0x8(%rsp,%r12,2),%rax: r12 is an index, only rsp cannot be one */
	assert_int_equal(x86_decode(BYTES(0x4a, 0x8d, 0x44, 0x64, 0x08), &insn), 5);
	assert_true(insn.has_index);
	/* jne -2 */
	assert_int_equal(x86_decode(BYTES(0x75, 0xfe), &insn), 2);
	assert_int_equal(insn.imm, -2);
	/* mov 0x20(%r13),%rax: rm 5 with REX.B is r13, no rip */
	assert_int_equal(x86_decode(BYTES(0x49, 0x8b, 0x45, 0x20), &insn), 4);
	assert_int_equal(insn.base, 13);
}

static void test_unknown(void **state)
{
	(void)state;
	assert_int_equal(length_of(BYTES(0xc5, 0xf8, 0x77)), 0);                   /* vzeroupper */
	assert_int_equal(length_of(BYTES(0x62, 0xf1, 0x7c, 0x48, 0x28, 0xc1)), 0); /* EVEX */
	assert_int_equal(length_of(BYTES(0x06)), 0);                   /* not in 64 bit */
	assert_int_equal(length_of(BYTES(0x66, 0xe8, 1, 2, 3, 4)), 0); /* processors differ */
	assert_int_equal(length_of(BYTES(0x48, 0x8b, 5, 1, 2, 3)), 0); /* cut off */
	assert_int_equal(length_of(BYTES(0x48)), 0);
	assert_int_equal(length_of(span_of(NULL, 0)), 0);
	/* Sixteen bytes are too many for any instruction. */
	assert_int_equal(length_of(BYTES(0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
					 0x66, 0x66, 0x66, 0x66, 0x66, 0x90)),
			 0);
}

/* "    9e90:\t48 8b 05 61 77 00 00 \tmov ..." -> 7 bytes; 0 for another line. */
static size_t parse_line(const char *line, uint8_t *bytes, size_t max)
{
	const char *at = strchr(line, '\t');
	size_t count = 0;

	if (line[0] != ' ' || !at || strstr(line, "(bad)") || strstr(line, "\t.byte"))
		return 0;
	for (at++; isxdigit((unsigned char)at[0]) && isxdigit((unsigned char)at[1]) &&
		   at[2] == ' ' && count < max;
	     at += 3)
		bytes[count++] = (uint8_t)strtoul((const char[]){ at[0], at[1], 0 }, NULL, 16);
	return count;
}

struct score {
	size_t seen, known;
};

static void check_library(const char *path, struct score *score)
{
	char command[512], line[512];
	FILE *file;

	snprintf(command, sizeof(command),
		 "objdump -d -z --insn-width=16 -j .text '%s' 2>/dev/null", path);
	file = popen(command, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		/* Bytes behind the instruction show a length that is too large. */
		uint8_t bytes[32];
		memset(bytes, 0x90, sizeof(bytes));
		size_t length = parse_line(line, bytes, 16);
		if (length == 0)
			continue;
		unsigned int claimed = length_of(span_of(bytes, sizeof(bytes)));
		score->seen++;
		if (claimed == 0)
			continue;
		score->known++;
		if (claimed != length)
			fail_msg("%s: %u bytes, objdump says %zu: %s", path, claimed, length, line);
	}
	pclose(file);
}

static void test_against_objdump(void **state)
{
	static const char *const libraries[] = {
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libm.so.6",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libssl.so.3",
		"/usr/lib/x86_64-linux-gnu/libOpenCL.so.1",
		"/usr/lib/x86_64-linux-gnu/libpocl.so.2",
	};
	struct score total = { 0 };

	(void)state;
	if (system("objdump --version >/dev/null 2>&1") != 0) {
		print_message("objdump (package binutils) is missing: nothing compared\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		struct score score = { 0 };
		check_library(libraries[i], &score);
		print_message("%s: %zu of %zu instructions known\n", libraries[i], score.known,
			      score.seen);
		total.seen += score.seen;
		total.known += score.known;
	}
	if (total.seen == 0)
		skip();
	/* What is left is VEX and EVEX code of libm and libc. */
	assert_true(total.known * 10 >= total.seen * 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_operands),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_against_objdump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
