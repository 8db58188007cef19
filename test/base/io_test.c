/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* A pipe gives what it has: reading and writing go on until all is there. */
static void test_pipe(void **state)
{
	(void)state;
	enum {
		SIZE = 1 << 20
	};
	int ends[2], status;
	char *data = malloc(SIZE), *all = NULL;
	size_t size = 0;

	assert_int_equal(pipe(ends), 0);
	memset(data, 'x', SIZE);
	pid_t child = fork();
	if (!child)
		_exit(io_write_all(ends[1], data, SIZE) == 0 ? 0 : 1);
	close(ends[1]);
	assert_int_equal(io_read_full(ends[0], data, 100), 100);
	assert_int_equal(io_read_all(ends[0], SIZE, &all, &size), 0);
	assert_int_equal(size, SIZE - 100);
	assert_int_equal(all[SIZE - 101], 'x');
	assert_int_equal(all[SIZE - 100], '\0');
	assert_int_equal(io_read_full(ends[0], data, 10), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	free(data);
	free(all);
	close(ends[0]);
}

static void test_limits_and_errors(void **state)
{
	(void)state;
	char *all = NULL, part[8];
	size_t size = 0;
	int fd = memfd_create("io", MFD_CLOEXEC);

	assert_int_equal(io_write_all(fd, "0123456789", 10), 0);
	assert_int_equal(io_pread_full(fd, part, 8, 4), 6);
	assert_memory_equal(part, "456789", 6);
	assert_int_equal(io_pread_full(fd, part, 8, 10), 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(io_read_all(fd, 9, &all, &size), -EFBIG);
	assert_null(all);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(io_read_all(fd, 10, &all, &size), 0);
	assert_string_equal(all, "0123456789");
	free(all);
	close(fd);
	assert_int_equal(io_read_full(-1, part, 1), -EBADF);
	assert_int_equal(io_write_all(-1, part, 1), -EBADF);
	assert_int_equal(io_read_file("/no/such/file", 10, &all, &size), -ENOENT);
	assert_int_equal(io_read_file("/", 10, &all, &size), -EISDIR);

	/* A FIFO nobody writes to does not hang us. */
	char path[] = "/tmp/io_test.XXXXXX";
	assert_non_null(mkdtemp(path));
	char fifo[64];
	snprintf(fifo, sizeof(fifo), "%s/fifo", path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(io_read_file(fifo, 10, &all, &size), 0);
	assert_int_equal(size, 0);
	free(all);
	unlink(fifo);
	rmdir(path);
}

static void collect(void *data, const char *text)
{
	strcpy(data, text);
}

static void test_log(void **state)
{
	(void)state;
	char text[1024] = "";
	log_debug("nobody %s", "listens");
	log_set(collect, text);
	log_debug("%d files", 3);
	assert_string_equal(text, "3 files");
	log_set(NULL, NULL);
	log_debug("again");
	assert_string_equal(text, "3 files");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_limits_and_errors),
		cmocka_unit_test(test_log),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
