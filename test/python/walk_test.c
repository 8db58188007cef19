/* SPDX-License-Identifier: Apache-2.0 */
/* The way from _PyRuntime to names and lines, in real interpreters that stand still and say themselves
 * where (target.py). bpf/python.bpf.c takes the same steps. */
#include "unit.h"

#include "python/code.h"
#include "python/find.h"

#include "python/interpreters.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>

struct target {
	pid_t pid;
	FILE *out;
	int in;
	struct python_binary binary;
	uint64_t bias;
};

static void start(struct target *t, const char *python)
{
	int out[2], in[2];

	assert_int_equal(pipe(out) | pipe(in), 0);
	t->pid = fork();
	if (!t->pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		for (int fd = 3; fd < 20; fd++)
			close(fd);
		execl(python, python, "-B", TEST_SOURCE_DIR "/python/target.py", NULL);
		_exit(127);
	}
	close(out[1]);
	close(in[0]);
	t->out = fdopen(out[0], "r");
	t->in = in[1];
}

/* The mapped file that has an interpreter in it. */
static void find(struct target *t)
{
	char path[64], line[1024], file[512];
	unsigned long begin, end, offset;

	snprintf(path, sizeof(path), "/proc/%d/maps", t->pid);
	CLEANUP_FCLOSE FILE *maps = fopen(path, "r");
	while (fgets(line, sizeof(line), maps)) {
		char mode[8];
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %511s", &begin, &end, mode, &offset,
			   file) != 5 ||
		    mode[2] != 'x' || file[0] != '/')
			continue;
		CLEANUP_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
		CLEANUP(elf_close) struct elf_file *elf = NULL;
		struct err err;
		uint64_t vaddr;
		assert_int_equal(elf_open_fd(&elf, fd, file, 0, &err), 0);
		int rc = python_binary_find(&t->binary, elf, &err);
		if (rc == 0)
			continue;
		if (rc < 0)
			fail_msg("%s", err.text);
		assert_int_equal(elf_offset_to_vaddr(elf, offset, &vaddr), 0);
		t->bias = begin - vaddr;
		return;
	}
	fail_msg("no interpreter found");
}

static int read_target(void *data, uint64_t address, void *to, uint32_t size)
{
	struct target *t = data;
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)address, size };

	return process_vm_readv(t->pid, &local, 1, &remote, 1, 0) != (ssize_t)size;
}

static uint64_t find_frame(struct target *t, uint64_t ident)
{
	const struct python_access access = { read_target, t };
	const struct python_layout *layout = &t->binary.layout;
	struct python_search s;
	uint64_t frame = 0;

	assert_int_equal(python_search_begin(&access, layout, t->binary.runtime + t->bias, &s),
			 PYTHON_STEP_ON);
	for (int i = 0; i < 100; i++) {
		enum python_step rc = python_search_step(&access, layout, ident, &s);
		if (rc == PYTHON_STEP_FOUND) {
			assert_int_equal(
				python_thread_frame(&access, layout, s.found, ident, &frame), 0);
			/* Not someone else's. */
			assert_int_not_equal(
				python_thread_frame(&access, layout, s.found, ident + 64, &frame),
				0);
			return frame;
		}
		assert_int_equal(rc, PYTHON_STEP_ON);
	}
	fail_msg("thread not found");
	return 0;
}

static void next_frame(struct target *t, uint64_t *frame, char *ret, size_t size)
{
	const struct python_access access = { read_target, t };
	const struct python_runtime runtime = { &t->binary.layout, t->binary.code_type + t->bias };
	CLEANUP(python_code_release) struct python_code code = { 0 };
	struct python_entry entry = { 0 };
	uint64_t words[PYTHON_WORDS] = { 0 };
	enum python_step rc;
	struct err err;

	do
		rc = python_frame_step(&access, &t->binary.layout, words, frame, &entry);
	while (rc == PYTHON_STEP_ON);
	if (rc == PYTHON_STEP_END) {
		snprintf(ret, size, "end");
		return;
	}
	assert_int_equal(rc, PYTHON_STEP_FOUND);
	uint64_t address = entry.code & ~(uint64_t)PYTHON_ENTRY_END;
	if (python_code_read(&code, &access, &runtime, address, entry.check, &err) < 0)
		fail_msg("%s", err.text);
	snprintf(ret, size, "%s|%s|%u", code.name, code.file,
		 python_code_line(&code, &t->binary.layout, entry.instr));
	/* Another one's check, an address that is none. */
	struct python_code none;
	assert_int_equal(python_code_read(&none, &access, &runtime, address, entry.check ^ 1, &err),
			 -ESTALE);
	assert_int_equal(python_code_read(&none, &access, &runtime, 16, 0, &err), -EFAULT);
	assert_int_equal(python_code_read(&none, &access, &runtime, t->binary.code_type + t->bias,
					  0, &err) < 0,
			 1);
}

static void expect(struct target *t, const char *title)
{
	char line[1024], found[1024];
	unsigned long ident, frames = 0;
	char word[16];

	assert_non_null(fgets(line, sizeof(line), t->out));
	assert_int_equal(sscanf(line, "%15s %lu", word, &ident), 2);
	assert_string_equal(word, title);
	if (!t->binary.runtime)
		find(t);
	/* All of it first: only then does it stand still. */
	char *lines[256];
	while (fgets(line, sizeof(line), t->out)) {
		line[strcspn(line, "\n")] = '\0';
		lines[frames++] = strdup(line);
		assert_in_range(frames, 0, 255);
		if (!strcmp(line, "end"))
			break;
	}
	usleep(200000);
	uint64_t frame = find_frame(t, ident);
	for (unsigned long i = 0; i < frames; i++) {
		next_frame(t, &frame, found, sizeof(found));
		assert_string_equal(found, lines[i]);
		free(lines[i]);
	}
	print_message("  %s: %lu frames\n", title, frames - 1);
	assert_true(frames > 3);
}

static void check_interpreter(const char *python)
{
	struct target t = { 0 };

	start(&t, python);
	print_message("%s\n", python);
	expect(&t, "thread");
	expect(&t, "main");
	kill(t.pid, SIGKILL);
	waitpid(t.pid, NULL, 0);
	fclose(t.out);
	close(t.in);
	python_binary_release(&t.binary);
}

static void test_interpreters(void **state)
{
	(void)state;
	if (!each_interpreter(check_interpreter))
		skip();
}

/* A memory of words in which everything leads to everything. */
static int read_cycle(void *data, uint64_t address, void *to, uint32_t size)
{
	const uint64_t self = *(uint64_t *)data;

	(void)address;
	for (uint32_t i = 0; i < size; i++)
		((uint8_t *)to)[i] = (uint8_t)(self >> 8 * (i % 8));
	return 0;
}

static int read_nothing(void *data, uint64_t address, void *to, uint32_t size)
{
	(void)data, (void)address, (void)to, (void)size;
	return -1;
}

static void test_hostile(void **state)
{
	uint64_t self = 0x1000;
	const struct python_access cycle = { read_cycle, &self }, none = { read_nothing, NULL };
	struct python_layout layout = { .boundary = PYTHON_RUN_SHIM, .frame_tlbc = PYTHON_ABSENT };
	struct python_entry entry;
	struct python_search s;
	uint64_t frame = 0x1000, words[PYTHON_WORDS] = { 0 };

	(void)state;
	assert_int_equal(python_search_begin(&cycle, &layout, 0x1000, &s), PYTHON_STEP_ON);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(python_search_step(&cycle, &layout, 1, &s), PYTHON_STEP_ON);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(python_frame_step(&cycle, &layout, words, &frame, &entry),
				 PYTHON_STEP_FOUND);
	assert_int_equal(python_search_begin(&none, &layout, 0x1000, &s), PYTHON_STEP_FAILED);
	assert_int_equal(python_frame_step(&none, &layout, words, &frame, &entry),
			 PYTHON_STEP_FAILED);
	frame = 0;
	assert_int_equal(python_frame_step(&none, &layout, words, &frame, &entry), PYTHON_STEP_END);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interpreters),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
