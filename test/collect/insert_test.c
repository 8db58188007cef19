/* SPDX-License-Identifier: Apache-2.0 */
/* A process that lies to whoever loads a library into it: we may be root, and it must not be us who write
 * where it could not, or who wait for it. */
#include "unit.h"

#include "base/cleanup.h"
#include "collect/insert.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Any file will do: it is not to be loaded. */
#define PAYLOAD TEST_SOURCE_DIR "/collect/insert_test.c"

static void on_signal(int signal)
{
	(void)signal;
}

/* The true C library's first page becomes memory with the same content, so that the other one is found. */
static void hide_libc(void)
{
	const size_t page = 4096;
	char *copy = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	Dl_info libc;

	if (copy == MAP_FAILED || !dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &libc))
		_exit(1);
	memcpy(copy, libc.dli_fbase, page);
	if (mremap(copy, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, libc.dli_fbase) == MAP_FAILED)
		_exit(1);
}

/* In the child: memfd_create() says @answer, or gets signals without end. */
static _Noreturn void lie(int answer, int ready)
{
	void *library = dlopen(FAKE_LIBC, RTLD_NOW | RTLD_LOCAL);
	int *said = library ? dlsym(library, "fake_answer") : NULL;
	volatile int *is_endless = library ? dlsym(library, "fake_is_endless") : NULL;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	signal(SIGUSR1, on_signal);
	if (!said || !is_endless)
		_exit(1);
	*said = answer;
	*is_endless = answer < 0;
	hide_libc();
	if (write(ready, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static pid_t liar(int answer)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		lie(answer, ready[1]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int insert(int answer)
{
	struct err err = { 0 };
	pid_t pid = liar(answer);
	int rc = insert_library((uint32_t)pid, PAYLOAD, "none", &err);

	end(pid);
	return rc;
}

static void check_refused(int rc)
{
	if (rc == -EPERM || rc == -ENOSYS)
		skip(); /* no ptrace here, or Linux before 5.6 */
	assert_int_equal(rc, -EPROTO);
}

/* One that it may look at, by a descriptor that says so. */
static void test_file_of_another(void **state)
{
	(void)state;
	char path[] = "/tmp/insert_test.XXXXXX", text[8];
	CLEANUP_CLOSE int fd = mkstemp(path);
	CLEANUP_CLOSE int looked = open(path, O_PATH | O_CLOEXEC);

	unlink(path);
	assert_int_equal(pwrite(fd, "precious", 8, 0), 8);
	check_refused(insert(looked));
	check_refused(insert(fd));
	assert_int_equal(pread(fd, text, 8, 0), 8);
	assert_memory_equal(text, "precious", 8);
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 8);
}

/* Nobody reads it: to write to it is to wait for ever. */
static void test_pipe(void **state)
{
	(void)state;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	check_refused(insert(fds[1]));
	close(fds[0]);
	close(fds[1]);
}

/* What the true function would give is taken, and the next lie is an error. */
static void test_memory(void **state)
{
	(void)state;
	CLEANUP_CLOSE int fd = memfd_create("other", MFD_ALLOW_SEALING);

	int rc = insert(fd);
	if (rc == -EPERM || rc == -ENOSYS)
		skip();
	assert_int_equal(rc, -ELIBACC);
	assert_true(lseek(fd, 0, SEEK_END) > 0);
}

static void test_signals_without_end(void **state)
{
	(void)state;
	const char *full = getenv("ACCEL_PROF_TEST_FULL");

	if (!full || strcmp(full, "1") != 0)
		skip(); /* as long as a call may take: 5 s */
	int rc = insert(-1);
	if (rc == -EPERM)
		skip();
	assert_int_equal(rc, -EAGAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_of_another),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_signals_without_end),
	};
#if !defined(__x86_64__)
	return 0;
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
