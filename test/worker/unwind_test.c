/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinding through the worker: the same tables as without it, and what a worker that lies gets. */
#include "unit.h"

#include "elf/system_files.h"
#include "worker/call.h"
#include "worker/unwind.h"
#include "worker/unwind_job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

static struct worker *start_with(const struct worker_op *extra, size_t count)
{
	struct worker *w = NULL;
	struct err err = { 0 };
	int rc = worker_start_with(&w, extra, count, &err);
	if (rc < 0)
		fail_msg("%s", err.text);
	return w;
}

static void test_like_direct(void **state)
{
	(void)state;
	CLEANUP(worker_free) struct worker *w = start_with(NULL, 0);
	unsigned compared = 0;

	for (size_t i = 0; i < ARRAY_SIZE(system_files); i++) {
		char buffer[PATH_MAX];
		const char *path = system_file_path(i, buffer);
		struct err err;
		if (!path)
			continue;
		CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
		CLEANUP(elf_close) struct elf_file *elf = NULL;
		CLEANUP(unwind_table_release) struct unwind_table direct = { 0 };
		CLEANUP(worker_table_release) struct worker_table ours = { 0 };
		struct unwind_stats stats;
		assert_int_equal(elf_open_fd(&elf, fd, path, 0, &err), 0);
		int rc = unwind_table_build(elf, &direct, &stats, &err);
		assert_int_equal(worker_unwind_table(w, fd, path, &ours, &err), rc);
		if (rc < 0)
			continue;
		compared++;
		assert_int_equal(ours.rows.base, direct.base);
		assert_int_equal(ours.rows.pages, direct.pages);
		assert_int_equal(ours.rows.rows, direct.rows);
		assert_int_equal(ours.stats.fdes, stats.fdes);
		assert_memory_equal(ours.rows.cells, direct.cells, unwind_table_bytes(&direct));
	}
	assert_true(compared > 0);
	assert_int_equal(worker_restarts(w), 0);
}

static int file_of(const void *data, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	return fd;
}

/* No ELF file; and an ELF file of nothing. The worker says so and lives on. */
static void test_not_an_object(void **state)
{
	(void)state;
	CLEANUP(worker_free) struct worker *w = start_with(NULL, 0);
	struct worker_table table;
	struct err err;
	uint8_t header[64] = { 0x7f, 'E', 'L', 'F', 2, 1, 1 };

	CLEANUP_CLOSE int text = file_of("#!/bin/sh\n", 10);
	assert_int_equal(worker_unwind_table(w, text, "/bin/x", &table, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "/bin/x"));
	CLEANUP_CLOSE int nothing = file_of(header, sizeof(header));
	assert_true(worker_unwind_table(w, nothing, "/bin/y", &table, &err) < 0);
	assert_int_equal(worker_restarts(w), 0);
}

static int die(struct worker_job *job, struct err *err)
{
	(void)job, (void)err;
	__builtin_trap();
}

/* Rows out of order: what the check of the answer is for. */
static int lie_about_rows(struct worker_job *job, struct err *err)
{
	struct unwind_table_result result = { .pages = 1, .rows = 2 };
	const struct unwind_cell cells[] = {
		{ .index = { 0, 2 } },
		{ .row = { .pc = 8, .rule = UNWIND_CFA_SP } },
		{ .row = { .pc = 4, .rule = UNWIND_CFA_SP } },
	};

	memcpy(job->reply, &result, sizeof(result));
	return worker_job_write(job, cells, sizeof(cells), err);
}

/* More rows than were sent. */
static int lie_about_size(struct worker_job *job, struct err *err)
{
	struct unwind_table_result result = { .pages = 1, .rows = 1u << 24 };
	const struct unwind_cell cells[] = { { .index = { 0, 1 } }, { .row = { .pc = 8 } } };

	memcpy(job->reply, &result, sizeof(result));
	return worker_job_write(job, cells, sizeof(cells), err);
}

static void test_liars(void **state)
{
	(void)state;
	static const struct worker_op ops[][1] = {
		{ { "unwind table", die } },
		{ { "unwind table", lie_about_rows } },
		{ { "unwind table", lie_about_size } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		CLEANUP(worker_free) struct worker *w = start_with(ops[i], 1);
		CLEANUP_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		struct worker_table table;
		struct err err;
		assert_int_equal(worker_unwind_table(w, fd, "liar", &table, &err), -EPROTO);
		assert_non_null(strstr(err.text, "liar"));
		/* And it is started again. */
		assert_int_equal(worker_unwind_table(w, fd, "liar", &table, &err), -EPROTO);
		assert_int_equal(worker_restarts(w), 1);
	}
}

static int too_many_frames(struct worker_job *job, struct err *err)
{
	static const struct unwind_frame frames[UNWIND_ODD_FRAMES];

	return worker_job_write(job, frames, sizeof(frames), err);
}

static int open_nothing(void *data, uint32_t number)
{
	(void)data, (void)number;
	return -ENOENT;
}

static void test_frames(void **state)
{
	(void)state;
	static const struct worker_op liar[] = { { "unwind frames", too_many_frames } };
	const uint64_t regs[UNWIND_REG_COUNT] = { [7] = 0x1000, [16] = 0x7777 };
	const uint64_t stack[4] = { 0 };
	const struct unwind_space space = { 0 };
	const struct unwind_copy copy = { .regs = regs,
					  .stack_address = 0x1000,
					  .stack = span_of(stack, sizeof(stack)) };
	const struct worker_unwind_ask ask = { &space, &copy, open_nothing, NULL };
	struct unwind_frame frames[8];
	struct err err;

	/* Nothing is mapped: the innermost frame is all that there is. */
	CLEANUP(worker_free) struct worker *w = start_with(NULL, 0);
	assert_int_equal(worker_unwind_frames(w, &ask, frames, ARRAY_SIZE(frames), &err), 1);
	assert_int_equal(frames[0].pc, 0x7777);
	assert_int_equal(frames[0].sp, 0x1000);

	CLEANUP(worker_free) struct worker *bad = start_with(liar, 1);
	assert_int_equal(worker_unwind_frames(bad, &ask, frames, ARRAY_SIZE(frames), &err),
			 -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_direct),
		cmocka_unit_test(test_not_an_object),
		cmocka_unit_test(test_liars),
		cmocka_unit_test(test_frames),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
