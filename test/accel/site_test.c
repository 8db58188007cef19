/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice of a probe's place. The sequences were assembled with GNU as (their listing is beside
 * them); what is expected follows from the instructions by hand.
 */
#include "accel/site.h"

#include "unit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES(...) \
	span_of((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

enum {
	RAX,
	RCX,
	RDX,
	RBX,
	RSP,
	RBP,
	RSI,
	RDI,
	R8,
	R9,
	R10,
	R11,
	R12,
	R13,
	R14,
	R15
};

static const struct probe_site plain = { .library = "libx", .symbol = "f" };

static struct probe_place choose(const struct probe_site *site, struct span code)
{
	struct probe_place place;

	assert_int_equal(site_choose(site, EM_X86_64, code, &place), 0);
	return place;
}

static void assert_register(const struct probe_place *place, unsigned int argument, int reg)
{
	assert_int_equal(place->argument[argument].kind, PLACE_REGISTER);
	assert_int_equal(place->argument[argument].reg, reg);
}

static void assert_stack(const struct probe_place *place, unsigned int argument, int offset)
{
	assert_int_equal(place->argument[argument].kind, PLACE_STACK);
	assert_int_equal(place->argument[argument].offset, offset);
}

/* push %rbp is the first instruction: nothing has moved. */
static void test_push_at_entry(void **state)
{
	struct probe_place place = choose(&plain, BYTES(0x55, 0x48, 0x89, 0xe5));

	(void)state;
	assert_true(place.emulated);
	assert_int_equal(place.skip, 0);
	assert_int_equal(place.return_address, 0);
	assert_register(&place, 0, RDI);
	assert_register(&place, 3, RCX);
	assert_register(&place, 5, R9);
	assert_stack(&place, 6, 8); /* right above the return address */
	assert_stack(&place, 8, 24);
}

/* ocl-icd's clEnqueueNDRangeKernel: mov table(%rip),%rax; push %rbx; mov 0x10(%rsp),%r10d */
static void test_push_behind_load(void **state)
{
	struct probe_place place = choose(&plain, BYTES(0x48, 0x8b, 0x05, 0x61, 0x77, 0, 0, 0x53,
							0x44, 0x8b, 0x54, 0x24, 0x10));

	(void)state;
	assert_true(place.emulated);
	assert_int_equal(place.skip, 7);
	assert_int_equal(place.return_address, 0);
	assert_register(&place, 1, RSI);
	assert_stack(&place, 6, 8);
}

/* pocl_update_event_complete: every argument moves one register on before the jump. */
static void test_moves_are_followed(void **state)
{
	static const uint8_t code[] = {
		0x49, 0x89, 0xc8,             /* mov %rcx,%r8 */
		0x48, 0x89, 0xd1,             /* mov %rdx,%rcx */
		0x89, 0xf2,                   /* mov %esi,%edx */
		0x48, 0x89, 0xfe,             /* mov %rdi,%rsi */
		0x31, 0xff,                   /* xor %edi,%edi */
		0xe9, 0x00, 0x10, 0x00, 0x00, /* jmp */
	};
	struct probe_site site = plain;
	struct probe_place place;

	(void)state;
	site.value[0] = (struct probe_value){ .base = PROBE_ARGUMENT, .index = 2 };
	place = choose(&site, span_of(code, sizeof(code)));
	assert_int_equal(place.skip, 13);
	assert_register(&place, 2, RCX);
	assert_register(&place, 0, RSI);
	assert_register(&place, 3, R8);
	/* Only its lower half was copied before rsi was overwritten. */
	assert_int_equal(place.argument[1].kind, PLACE_LOST);

	/* A site that needs the lost one is probed at the entry, however slow. */
	site.value[1] = (struct probe_value){ .base = PROBE_ARGUMENT, .index = 1 };
	place = choose(&site, span_of(code, sizeof(code)));
	assert_int_equal(place.skip, 0);
	assert_false(place.emulated);
	assert_register(&place, 1, RSI);
}

/* endbr64; sub $0x60,%rsp; mov %rdi,0x8(%rsp); test %rdi,%rdi; je */
static void test_frame_is_counted(void **state)
{
	struct probe_place place =
		choose(&plain, BYTES(0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x60, 0x48, 0x89,
				     0x7c, 0x24, 0x08, 0x48, 0x85, 0xff, 0x74, 0x10));

	(void)state;
	assert_true(place.emulated);
	assert_int_equal(place.skip, 16);
	assert_int_equal(place.return_address, 0x60);
	assert_register(&place, 0, RDI);
	assert_stack(&place, 6, 0x68);
	assert_stack(&place, 7, 0x70);
}

/* lea -0x18(%rsp),%rsp; lea 0x8(%rsp),%rsp; call */
static void test_lea_moves_the_stack(void **state)
{
	struct probe_place place = choose(&plain, BYTES(0x48, 0x8d, 0x64, 0x24, 0xe8, 0x48, 0x8d,
							0x64, 0x24, 0x08, 0xe8, 0, 1, 0, 0));

	(void)state;
	assert_true(place.emulated);
	assert_int_equal(place.skip, 10);
	assert_int_equal(place.return_address, 0x10);
}

/* The entry is the answer when something is not understood before a cheap instruction is met. */
static void test_unknown_effects(void **state)
{
	struct span cases[] = {
		BYTES(0xc5, 0xf8, 0x77, 0x55),             /* vzeroupper; push %rbp */
		BYTES(0x48, 0x83, 0xe4, 0xf0, 0x55),       /* and $-16,%rsp; push %rbp */
		BYTES(0x48, 0x89, 0xf8, 0xc3),             /* mov %rdi,%rax; ret */
		BYTES(0xff, 0x25, 1, 2, 3, 4, 0x55),       /* jmp *x(%rip); push %rbp */
		BYTES(0x48, 0x89, 0x7c, 0x24, 0x10, 0x55), /* mov %rdi,0x10(%rsp): arguments */
		BYTES(0xc7, 0x06, 0, 0, 0, 0, 0x55),       /* movl $0,(%rsi); push %rbp */
		BYTES(0x48, 0x89, 0xe5, 0x48, 0x89, 0xc4, 0x55), /* mov %rax,%rsp */
		BYTES(0x48, 0x83, 0xc4, 0x08, 0x55),             /* add $8,%rsp: above its frame */
		BYTES(0x48, 0x89, 0xe5, 0x53), /* mov %rsp,%rbp: the caller's is lost */
		BYTES(0x48, 0x8b),             /* cut off */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct probe_place place = choose(&plain, cases[i]);
		assert_int_equal(place.skip, 0);
		assert_false(place.emulated);
		assert_register(&place, 0, RDI);
		assert_int_equal(place.return_address, 0);
	}
}

/* endbr64; nopl 0x0(%rax,%rax,1); nop; push: the five-byte nop is not taken, the short one is. */
static void test_nops(void **state)
{
	struct probe_place place =
		choose(&plain, BYTES(0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x1f, 0x44, 0, 0, 0x90, 0x55));

	(void)state;
	assert_int_equal(place.skip, 9);
	/* xchg %ax,%ax has a prefix: kernels differ, so it is passed over. */
	place = choose(&plain, BYTES(0x66, 0x90, 0x41, 0x57));
	assert_int_equal(place.skip, 2);
}

/* test %rdi,%rdi; L: push %rbx; pop %rbx; dec %rdi...; jne L: L is reached many times a call. */
static void test_loop_into_block(void **state)
{
	struct probe_place place = choose(
		&plain, BYTES(0x48, 0x85, 0xff, 0x53, 0x5b, 0x48, 0x83, 0xef, 1, 0x75, 0xf8));

	(void)state;
	assert_int_equal(place.skip, 0);
	assert_false(place.emulated);
}

static void test_at_return_is_entry(void **state)
{
	struct probe_site site = plain;
	struct probe_place place;

	(void)state;
	site.flags = PROBE_AT_RETURN;
	place = choose(&site, BYTES(0x48, 0x8b, 0x05, 0x61, 0x77, 0, 0, 0x53));
	assert_int_equal(place.skip, 0);
}

/* push %rbx behind four nops: any of them, where a counter counts places; else the first. */
static void test_counted(void **state)
{
	struct probe_site site = plain;
	bool is_taken[5] = { false };

	(void)state;
	assert_int_equal(choose(&site, BYTES(0x90, 0x90, 0x90, 0x90, 0x53)).skip, 0);
	site.counter = "counter";
	for (int i = 0; i < 500; i++) {
		struct probe_place place = choose(&site, BYTES(0x90, 0x90, 0x90, 0x90, 0x53));
		assert_in_range(place.skip, 0, 3);
		assert_true(place.emulated);
		assert_int_equal(place.return_address, 0);
		is_taken[place.skip] = true;
	}
	for (int i = 0; i < 4; i++)
		assert_true(is_taken[i]);
	assert_int_equal(choose(&site, BYTES(0x53, 0x90)).skip, 0);
	/* As good a place to find the return address as the entry. */
	site.flags = PROBE_AT_RETURN;
	memset(is_taken, 0, sizeof(is_taken));
	for (int i = 0; i < 500; i++)
		is_taken[choose(&site, BYTES(0x90, 0x90, 0x90, 0x90, 0x53)).skip] = true;
	for (int i = 0; i < 4; i++)
		assert_true(is_taken[i]);
}

static void test_other_machine(void **state)
{
	struct probe_place place;

	(void)state;
	assert_int_equal(site_choose(&plain, EM_RISCV, BYTES(0x55), &place), -ENOTSUP);
}

static void test_library_names(void **state)
{
	const struct probe_site site = { .library = "libOpenCL" };

	(void)state;
	assert_true(site_in_library(&site, "/usr/lib/x86_64-linux-gnu/libOpenCL.so.1.0.0"));
	assert_true(site_in_library(&site, "libOpenCL.so"));
	assert_true(site_in_library(&site, "/a/pyopencl.libs/libOpenCL-83a5a7fd.so.1.0.0"));
	assert_false(site_in_library(&site, "/usr/lib/libOpenCLfoo.so.1"));
	assert_false(site_in_library(&site, "/libOpenCL.so/liba.so"));
	assert_false(site_in_library(&site, "/usr/share/libOpenCL.txt"));
}

static void test_value_count(void **state)
{
	struct probe_site site = plain;

	(void)state;
	assert_int_equal(site_value_count(&site), 0);
	site.value[0] = (struct probe_value){ .base = PROBE_ARGUMENT };
	site.value[1] = (struct probe_value){ .base = PROBE_ARGUMENT, .derefs = 1, .count = 3 };
	assert_int_equal(site_value_count(&site), 4);
}

/* Is @skip the start of one of the kinds of instruction wanted, as objdump sees the function? */
static bool objdump_agrees(const char *path, const char *symbol, uint32_t skip)
{
	char command[512], line[512];
	unsigned long long first = 0, address;
	bool found = false;
	FILE *file;

	snprintf(command, sizeof(command), "objdump -d --no-show-raw-insn --disassemble=%s '%s'",
		 symbol, path);
	file = popen(command, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char *tab = strchr(line, '\t');
		if (line[0] != ' ' || !tab)
			continue;
		address = strtoull(line, NULL, 16);
		if (!first)
			first = address;
		if (address - first != skip)
			continue;
		found = strncmp(tab + 1, "push ", 5) == 0 || tab[1] == 'j' ||
			strncmp(tab + 1, "call ", 5) == 0 || strncmp(tab + 1, "nop\n", 4) == 0;
	}
	pclose(file);
	return found;
}

static void check_file(const char *path, const char *const *symbols)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(site_file_close) struct site_file *file = NULL;
	struct err err;

	if (fd < 0 || system("objdump --version >/dev/null 2>&1") != 0) {
		print_message("%s or objdump is missing\n", path);
		skip();
	}
	assert_int_equal(site_file_open(&file, fd, path, &err), 0);
	for (; *symbols; symbols++) {
		struct probe_site site = { .library = "lib", .symbol = *symbols };
		struct probe_place place;
		uint64_t offset;
		assert_int_equal(site_resolve(file, &site, &place, &offset, &err), 0);
		print_message("%s+%u%s\n", *symbols, place.skip, place.emulated ? "" : " (slow)");
		assert_true(place.emulated);
		assert_true(objdump_agrees(path, *symbols, place.skip));
	}
}

/* The calls on a launch's path must be cheap to probe in the libraries of Debian 12. */
static void test_real_loader(void **state)
{
	static const char *const symbols[] = { "clEnqueueNDRangeKernel",
					       "clEnqueueTask",
					       "clEnqueueReadBuffer",
					       "clEnqueueWriteBuffer",
					       "clEnqueueCopyBuffer",
					       "clEnqueueFillBuffer",
					       "clEnqueueMapBuffer",
					       "clEnqueueUnmapMemObject",
					       "clEnqueueSVMMemcpy",
					       "clFinish",
					       NULL };

	(void)state;
	check_file("/usr/lib/x86_64-linux-gnu/libOpenCL.so.1", symbols);
}

static void test_real_pocl(void **state)
{
	static const char *const symbols[] = { "pocl_update_event_submitted",
					       "pocl_update_event_running",
					       "pocl_update_event_complete", NULL };

	(void)state;
	check_file("/usr/lib/x86_64-linux-gnu/libpocl.so.2", symbols);
}

static void test_no_such_function(void **state)
{
	const char *path = "/usr/lib/x86_64-linux-gnu/libc.so.6";
	const struct probe_site site = { .library = "libc", .symbol = "clEnqueueNDRangeKernel" };
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(site_file_close) struct site_file *file = NULL;
	struct probe_place place;
	uint64_t offset;
	struct err err;

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(site_file_open(&file, fd, path, &err), 0);
	assert_int_equal(site_resolve(file, &site, &place, &offset, &err), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_push_at_entry),
		cmocka_unit_test(test_push_behind_load),
		cmocka_unit_test(test_moves_are_followed),
		cmocka_unit_test(test_frame_is_counted),
		cmocka_unit_test(test_lea_moves_the_stack),
		cmocka_unit_test(test_unknown_effects),
		cmocka_unit_test(test_nops),
		cmocka_unit_test(test_loop_into_block),
		cmocka_unit_test(test_at_return_is_entry),
		cmocka_unit_test(test_counted),
		cmocka_unit_test(test_other_machine),
		cmocka_unit_test(test_library_names),
		cmocka_unit_test(test_value_count),
		cmocka_unit_test(test_real_loader),
		cmocka_unit_test(test_real_pocl),
		cmocka_unit_test(test_no_such_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
