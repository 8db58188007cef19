/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "collect/kernel_name.h"
#include "collect/programs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* As lib/vsprintf.c and kernel/kallsyms.c (__sprint_symbol()) of Linux write them. */
static void test_parse(void **state)
{
	static const struct {
		const char *text, *name, *module;
		uint64_t offset, size;
	} good[] = {
		{ "do_syscall_64+0x5e/0x120", "do_syscall_64", "", 0x5e, 0x120 },
		{ "x+0x0/0x1 [kvm]", "x", "kvm", 0, 1 },
		{ "core::fmt<T>+1::f+0x10/0x20", "core::fmt<T>+1::f", "", 0x10, 0x20 },
		{ "bpf_prog_6deef7357e7b4530_on_sample+0x12/0x2a [bpf]",
		  "bpf_prog_6deef7357e7b4530_on_sample", "bpf", 0x12, 0x2a },
	};
	static const char *const bad[] = {
		"0xffffffff81000000", "", "+0x1/0x2", "f+0x1", "f+1/0x2", "f+0x1/2", "f+0xzz/0x2",
		"f+0x1001/0x2000", /* before address 0 */
	};
	struct kernel_name n;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(kernel_name_parse(good[i].text, 0x1000, &n), 0);
		assert_string_equal(n.name, good[i].name);
		assert_string_equal(n.module, good[i].module);
		assert_int_equal(n.start, 0x1000 - good[i].offset);
		assert_int_equal(n.size, good[i].size);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(kernel_name_parse(bad[i], 0x1000, &n), -ENOENT);
	char longest[2 * KERNEL_NAME_BYTES];
	memset(longest, 'x', sizeof(longest));
	memcpy(longest + sizeof(longest) - 9, "+0x1/0x2", 9);
	assert_int_equal(kernel_name_parse(longest, 0x1000, &n), -ENOENT);
}

#define EVERY 500 /* of 200,000 */

/* This machine's own: the functions that /proc/kallsyms has are told, with their beginning. */
static void test_this_kernel(void **state)
{
	CLEANUP(programs_close) struct programs p = { 0 };
	const struct programs_options opt = { .ring_bytes = 1 << 20 };
	CLEANUP_FREE char *kallsyms = NULL;
	size_t size, lines = 0, asked = 0, same = 0;
	struct err err;

	(void)state;
	if (geteuid() != 0 || io_read_file("/proc/kallsyms", 64 << 20, &kallsyms, &size) < 0) {
		print_message("not root: BPF programs cannot be loaded\n");
		skip();
	}
	if (programs_open(&p, &opt, &err) < 0)
		fail_msg("%s", err.text);
	for (char *line = strtok(kallsyms, "\n"); line; line = strtok(NULL, "\n")) {
		char *end;
		struct kernel_name n;
		uint64_t address = strtoul(line, &end, 16);
		/* Not modules, which come and go; nor what is freed after the start. */
		if ((end[1] != 'T' && end[1] != 't') || strchr(line, '[') || lines++ % EVERY ||
		    !address)
			continue;
		asked++;
		if (kernel_name_at(&p, address, &n) < 0)
			continue;
		assert_int_equal(n.start, address);
		same += !strcmp(n.name, end + 3);
	}
	print_message("%zu of %zu by the same name\n", same, asked);
	/* The others have several. */
	assert_true(!asked || same > asked * 8 / 10);
	struct kernel_name n;
	assert_int_equal(kernel_name_at(&p, 0x1000, &n), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_this_kernel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
