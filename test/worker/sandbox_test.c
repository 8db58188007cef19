/* SPDX-License-Identifier: Apache-2.0 */
/* What code inside the worker can do when a parser has been taken over: ops that try it. */
#include "unit.h"

#include "base/io.h"
#include "base/parse.h"
#include "worker/call.h"
#include "worker/debug_files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SECOND 1000000000ull

enum {
	TRY_OPEN,
	TRY_OPEN_PROC,
	TRY_OPENAT2,
	TRY_SOCKET_INET,
	TRY_SOCKET_UNIX,
	TRY_FORK,
	TRY_VFORK,
	TRY_EXEC,
	TRY_KILL_PARENT,
	TRY_PTRACE,
	TRY_MAP_CODE,
	TRY_PROTECT_CODE,
	TRY_MEMFD,
	TRY_SETUID,
	TRY_PRCTL,
	TRY_UNLINK,
	TRY_IOCTL,
	TRY_BPF,
	TRY_IO_URING,
	TRY_COUNT
};

static int32_t try_call(long number, long a, long b, long c, long d)
{
	long rc = syscall(number, a, b, c, d, 0L, 0L);
	return rc < 0 ? -errno : 0;
}

#define PTR(x) ((long)(uintptr_t)(x))

static int op_escape(struct worker_job *job, struct err *err)
{
	(void)err;
	int32_t rc[TRY_COUNT];
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	rc[TRY_OPEN] = try_call(SYS_openat, AT_FDCWD, PTR("/etc/passwd"), O_RDONLY, 0);
	rc[TRY_OPEN_PROC] = try_call(SYS_openat, AT_FDCWD, PTR("/proc/self/mem"), O_RDWR, 0);
	rc[TRY_OPENAT2] = try_call(SYS_openat2, AT_FDCWD, PTR("/etc/passwd"), PTR(page), 24);
	rc[TRY_SOCKET_INET] = try_call(SYS_socket, AF_INET, SOCK_STREAM, 0, 0);
	rc[TRY_SOCKET_UNIX] = try_call(SYS_socket, AF_UNIX, SOCK_STREAM, 0, 0);
	rc[TRY_FORK] = try_call(SYS_clone, SIGCHLD, 0, 0, 0);
	rc[TRY_VFORK] = try_call(SYS_clone3, PTR(page), 64, 0, 0);
	rc[TRY_EXEC] = try_call(SYS_execve, PTR("/bin/true"), 0, 0, 0);
	rc[TRY_KILL_PARENT] = try_call(SYS_kill, getpid() - 1, 0, 0, 0);
	rc[TRY_PTRACE] = try_call(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
	rc[TRY_MAP_CODE] = PTR(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0)) == -1
				   ? -errno
				   : 0;
	rc[TRY_PROTECT_CODE] = mprotect(page, 4096, PROT_READ | PROT_EXEC) < 0 ? -errno : 0;
	rc[TRY_MEMFD] = try_call(SYS_memfd_create, PTR("x"), 0, 0, 0);
	rc[TRY_SETUID] = try_call(SYS_setuid, 0, 0, 0, 0);
	rc[TRY_PRCTL] = try_call(SYS_prctl, 38, 0, 0, 0);
	rc[TRY_UNLINK] = try_call(SYS_unlinkat, AT_FDCWD, PTR("/tmp/x"), 0, 0);
	rc[TRY_IOCTL] = try_call(SYS_ioctl, job->socket, 0x5401, PTR(page), 0);
	rc[TRY_BPF] = try_call(SYS_bpf, 0, PTR(page), 64, 0);
	rc[TRY_IO_URING] = try_call(SYS_io_uring_setup, 1, PTR(page), 0, 0);
	memcpy(job->reply, rc, sizeof(rc));
	return 0;
}

/* Stays until it is answered, so that it can be looked at. */
static int op_show(struct worker_job *job, struct err *err)
{
	(void)err;
	struct elf_symbols_wanted wanted = { 0 };
	pid_t pid = getpid();
	snprintf(wanted.name, sizeof(wanted.name), "%d", pid);
	worker_job_open(job, &wanted, 0);
	return 0;
}

static int op_crash(struct worker_job *job, struct err *err)
{
	(void)job, (void)err;
	volatile int *volatile nowhere = NULL;
	*nowhere = 1; /* NOLINT(clang-analyzer-core.NullDereference) */
	return 0;
}

static int op_abort(struct worker_job *job, struct err *err)
{
	(void)job, (void)err;
	abort();
}

static int op_loop(struct worker_job *job, struct err *err)
{
	(void)err;
	for (volatile unsigned i = 0; job->fd >= 0; i++)
		;
	return 0;
}

static int op_allocate(struct worker_job *job, struct err *err)
{
	(void)err;
	uint64_t total = 0, step = 64 << 20;
	while (total < 64 * step && mmap(NULL, step, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		total += step;
	memcpy(job->reply, &total, sizeof(total));
	return 0;
}

static int op_write_far(struct worker_job *job, struct err *err)
{
	(void)err;
	int32_t rc = pwrite(job->output_fd, "x", 1, 600 << 20) < 0 ? -errno : 0;
	memcpy(job->reply, &rc, sizeof(rc));
	return 0;
}

static int op_lie_about_size(struct worker_job *job, struct err *err)
{
	job->written += 4096;
	return worker_job_write(job, "x", 1, err);
}

static int op_keep_mapping(struct worker_job *job, struct err *err)
{
	int rc = worker_job_write(job, "before", 6, err);
	void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, job->output_fd, 0);
	return map == MAP_FAILED ? -errno : rc;
}

static int op_garbage(struct worker_job *job, struct err *err)
{
	(void)err;
	return worker_send(job->socket, "hello", 5, NULL, 0);
}

/* What the object's name says is wanted as a file; its first bytes come back. */
static int op_want(struct worker_job *job, struct err *err)
{
	struct elf_symbols_wanted wanted = { 0 };
	char start[16] = "";
	const char *kind = job->name;

	if (!strncmp(kind, "name:", 5))
		snprintf(wanted.name, sizeof(wanted.name), "%s", kind + 5);
	else if (!strncmp(kind, "path:", 5))
		snprintf(wanted.path, sizeof(wanted.path), "%s", kind + 5);
	else if (!strcmp(kind, "endless"))
		memset(wanted.name, 'x', sizeof(wanted.name));
	else if (!strcmp(kind, "huge id"))
		wanted.build_id.size = 1000;
	int fd = worker_job_open(job, &wanted, 0);
	if (fd < 0)
		return err_set(err, fd, "not opened");
	ssize_t n = pread(fd, start, sizeof(start), 0);
	close(fd);
	return n < 0 ? -errno : worker_job_write(job, start, (size_t)n, err);
}

/* Map the object, let the other side cut it off, read on. */
static int op_read_cut_off(struct worker_job *job, struct err *err)
{
	(void)err;
	struct elf_symbols_wanted wanted = { 0 };
	volatile char *map = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, job->fd, 0);
	worker_job_open(job, &wanted, 0);
	job->reply[0] = (uint8_t)map[5000];
	return 0;
}

enum {
	OP_ESCAPE = WORKER_OP_TEST,
	OP_SHOW,
	OP_CRASH,
	OP_ABORT,
	OP_LOOP,
	OP_ALLOCATE,
	OP_WRITE_FAR,
	OP_LIE,
	OP_KEEP_MAPPING,
	OP_GARBAGE,
	OP_WANT,
	OP_READ_CUT_OFF,
};

static const struct worker_op test_ops[] = {
	{ "escape", op_escape },
	{ "show", op_show },
	{ "crash", op_crash },
	{ "abort", op_abort },
	{ "loop", op_loop },
	{ "allocate", op_allocate },
	{ "write far", op_write_far },
	{ "lie", op_lie_about_size },
	{ "keep mapping", op_keep_mapping },
	{ "garbage", op_garbage },
	{ "want", op_want },
	{ "read cut off", op_read_cut_off },
};

static struct worker *start(void)
{
	struct worker *w = NULL;
	struct err err = { 0 };
	int rc = worker_start_with(&w, test_ops, ARRAY_SIZE(test_ops), &err);
	if (rc < 0)
		fail_msg("%s", err.text);
	return w;
}

static int call_op(struct worker *w, unsigned op, struct worker_reply *reply, struct err *err)
{
	struct worker_call call = {
		.op = op,
		.name = "object",
		.fd = STDIN_FILENO,
		.timeout_ns = 20 * SECOND,
	};
	return worker_call(w, &call, reply, err);
}

static void test_escape(void **state)
{
	(void)state;
	CLEANUP(worker_free) struct worker *w = start();
	CLEANUP(worker_reply_release) struct worker_reply reply = { 0 };
	struct err err;
	int32_t rc[TRY_COUNT];

	assert_int_equal(call_op(w, OP_ESCAPE, &reply, &err), 0);
	memcpy(rc, reply.args, sizeof(rc));
	for (int i = 0; i < TRY_COUNT; i++) {
		if (rc[i] != -EPERM)
			print_message("try %d: %d\n", i, rc[i]);
		assert_int_equal(rc[i], -EPERM);
	}
}

static bool has_line(const char *text, const char *line)
{
	const char *at = strstr(text, line);
	return at && (at == text || at[-1] == '\n');
}

/* What the kernel says of the worker, while it waits. */
static int look(void *data, const struct elf_symbols_wanted *wanted, uint32_t attempt)
{
	(void)attempt;
	bool *has_looked = data;
	char path[64], target[64];
	CLEANUP_FREE char *status = NULL;
	size_t size;

	snprintf(path, sizeof(path), "/proc/%s/status", wanted->name);
	assert_int_equal(io_read_file(path, 65536, &status, &size), 0);
	assert_true(has_line(status, "NoNewPrivs:\t1"));
	assert_true(has_line(status, "Seccomp:\t2"));
	assert_true(has_line(status, "CapEff:\t0000000000000000"));
	assert_true(has_line(status, "CapPrm:\t0000000000000000"));
	if (geteuid() == 0) {
		assert_true(has_line(status, "Uid:\t65534\t65534\t65534\t65534"));
		assert_true(has_line(status, "Gid:\t65534\t65534\t65534\t65534"));
		assert_true(has_line(status, "Groups:\t \n") || has_line(status, "Groups:\t\n"));
	}
	/* 0 to 2, its socket, and the three descriptors of the call. */
	int open_files = 0;
	for (int fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/%s/fd/%d", wanted->name, fd);
		ssize_t n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
		open_files++;
		assert_null(strstr(target, "secret"));
	}
	assert_int_equal(open_files, 7);
	*has_looked = true;
	return -ENOENT;
}

static void test_status(void **state)
{
	(void)state;
	bool has_looked = false;
	struct err err;
	CLEANUP_CLOSE int secret = memfd_create("secret", 0); /* would survive fork */
	CLEANUP(worker_free) struct worker *w = start();
	CLEANUP(worker_reply_release) struct worker_reply reply = { 0 };
	struct worker_call call = {
		.op = OP_SHOW,
		.name = "x",
		.fd = STDIN_FILENO,
		.timeout_ns = 20 * SECOND,
		.open = look,
		.data = &has_looked,
	};

	assert_true(secret >= 0);
	assert_int_equal(worker_call(w, &call, &reply, &err), 0);
	assert_true(has_looked);
}

static void expect_alive(struct worker *w)
{
	CLEANUP(worker_reply_release) struct worker_reply reply = { 0 };
	struct err err;
	assert_int_equal(call_op(w, OP_ESCAPE, &reply, &err), 0);
}

/* Each of these costs the one call, and the next finds a fresh worker. */
static void test_deaths(void **state)
{
	(void)state;
	static const struct {
		unsigned op;
		const char *text;
	} cases[] = {
		{ OP_CRASH, "reading 'object', the worker " },
		{ OP_ABORT, "reading 'object', the worker " },
		{ OP_LIE, "reading 'object', the worker answered nonsense" },
		{ OP_KEEP_MAPPING, "reading 'object', the worker answered nonsense" },
		{ OP_GARBAGE, "reading 'object', the worker answered nonsense" },
	};
	CLEANUP(worker_free) struct worker *w = start();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct worker_reply reply;
		struct err err = { 0 };
		assert_int_equal(call_op(w, cases[i].op, &reply, &err), -EPROTO);
		if (!strstr(err.text, cases[i].text))
			fail_msg("%s", err.text);
		expect_alive(w);
		assert_int_equal(worker_restarts(w), i + 1);
	}
}

#if !defined(__SANITIZE_ADDRESS__)
static void test_signal_is_named(void **state)
{
	(void)state;
	CLEANUP(worker_free) struct worker *w = start();
	struct worker_reply reply;
	struct err err;

	assert_int_equal(call_op(w, OP_CRASH, &reply, &err), -EPROTO);
	assert_string_equal(err.text, "reading 'object', the worker died of signal 11");
	assert_int_equal(call_op(w, OP_ABORT, &reply, &err), -EPROTO);
	assert_string_equal(err.text, "reading 'object', the worker died of signal 6");
}
#endif

static void test_timeout(void **state)
{
	(void)state;
	CLEANUP(worker_free) struct worker *w = start();
	struct worker_reply reply;
	struct err err;
	struct worker_call call = {
		.op = OP_LOOP,
		.name = "endless.so",
		.fd = STDIN_FILENO,
		.timeout_ns = SECOND / 5,
	};

	assert_int_equal(worker_call(w, &call, &reply, &err), -EPROTO);
	assert_string_equal(err.text, "reading 'endless.so', the worker did not finish in 200 ms");
	expect_alive(w);
}

static int call_with(struct worker *w, unsigned op, int fd, struct err *err)
{
	CLEANUP(worker_reply_release) struct worker_reply reply = { 0 };
	const struct worker_call call = {
		.op = op, .name = "object", .fd = fd, .timeout_ns = 20 * SECOND
	};

	return worker_call(w, &call, &reply, err);
}

/* Whoever has files that break the worker loses the names in those; others keep theirs. */
static void test_deaths_of_one_owner(void **state)
{
	(void)state;
	CLEANUP(worker_free) struct worker *w = start();
	CLEANUP_CLOSE int hostile = memfd_create("hostile", MFD_CLOEXEC);
	CLEANUP_CLOSE int other = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct err err;

	for (unsigned i = 0; i < WORKER_DEATHS_MAX; i++)
		assert_int_equal(call_with(w, OP_CRASH, hostile, &err), -EPROTO);
	unsigned restarts = worker_restarts(w);
	for (unsigned i = 0; i < 2 * WORKER_RESTARTS_MAX; i++)
		assert_int_equal(call_with(w, OP_CRASH, hostile, &err), -EPROTO);
	assert_string_equal(err.text, "'object' is left: its owner's files have broken the worker "
				      "too often");
	assert_int_equal(worker_restarts(w), restarts);
	assert_int_equal(call_with(w, OP_ESCAPE, other, &err), 0);
}

/* Nor do many owners together end up with more. */
static void test_restarts_are_bounded(void **state)
{
	(void)state;
	CLEANUP(worker_free) struct worker *w = start();
	CLEANUP_CLOSE int fd = memfd_create("hostile", MFD_CLOEXEC);
	struct err err;

	for (unsigned i = 0; i <= WORKER_RESTARTS_MAX; i++) {
		if (fchown(fd, 1000 + i, 0) < 0)
			skip(); /* not root */
		assert_int_equal(call_with(w, OP_CRASH, fd, &err), -EPROTO);
	}
	assert_int_equal(call_with(w, OP_ESCAPE, fd, &err), -EPIPE);
	assert_int_equal(call_with(w, OP_ESCAPE, fd, &err), -EPIPE);
}

static void test_memory_limit(void **state)
{
	(void)state;
	CLEANUP(worker_free) struct worker *w = start();
	CLEANUP(worker_reply_release) struct worker_reply reply = { 0 };
	struct err err;
	uint64_t total;

	assert_int_equal(call_op(w, OP_ALLOCATE, &reply, &err), 0);
	memcpy(&total, reply.args, sizeof(total));
	/* 2 GiB, less what starting took of it. */
	assert_in_range(total, 1ull << 30, 2ull << 30);
}

static void test_output_limit(void **state)
{
	(void)state;
	CLEANUP(worker_free) struct worker *w = start();
	struct worker_reply reply;
	struct err err;
	int32_t rc;

	assert_int_equal(call_op(w, OP_WRITE_FAR, &reply, &err), 0);
	memcpy(&rc, reply.args, sizeof(rc));
	assert_int_equal(rc, -EFBIG);
}

static int open_like_symbolize(void *data, const struct elf_symbols_wanted *wanted,
			       uint32_t attempt)
{
	return debug_files_open(data, wanted, attempt);
}

/* Files that a worker under someone else's control could ask for. */
static void test_wanted_files(void **state)
{
	(void)state;
	static const struct {
		const char *want;
		int rc;
	} cases[] = {
		{ "name:passwd", -ENOENT }, /* there, beside the object, and no ELF file */
		{ "name:../etc/shadow", -EPROTO },
		{ "name:..", -EPROTO },
		{ "name:", -ENOENT },
		{ "path:/etc/shadow", -ENOENT },
		{ "path:/usr/lib/debug/../../../etc/shadow", -ENOENT },
		{ "path:/usr/lib/debug", -ENOENT },
		{ "path:/bin/sh", -ENOENT }, /* an ELF file, but not where debug files are */
		{ "endless", -EPROTO },
		{ "huge id", -EPROTO },
	};
	CLEANUP(worker_free) struct worker *w = start();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct debug_files files = { .path = "/etc/object", .root_fd = -1 };
		struct worker_reply reply;
		struct err err;
		struct worker_call call = {
			.op = OP_WANT,
			.name = cases[i].want,
			.fd = STDIN_FILENO,
			.timeout_ns = 20 * SECOND,
			.open = open_like_symbolize,
			.data = &files,
		};
		int rc = worker_call(w, &call, &reply, &err);
		if (rc != cases[i].rc)
			fail_msg("%s: %d", cases[i].want, rc);
	}
}

static int cut_off(void *data, const struct elf_symbols_wanted *wanted, uint32_t attempt)
{
	(void)wanted, (void)attempt;
	int *fd = data;
	assert_int_equal(ftruncate(*fd, 4096), 0);
	return -ENOENT;
}

static void test_file_cut_off_while_read(void **state)
{
	(void)state;
	CLEANUP_CLOSE int fd = memfd_create("x", MFD_CLOEXEC);
	CLEANUP(worker_free) struct worker *w = start();
	struct worker_reply reply;
	struct err err;
	struct worker_call call = {
		.op = OP_READ_CUT_OFF,
		.name = "short.so",
		.fd = fd,
		.timeout_ns = 20 * SECOND,
		.open = cut_off,
		.data = &fd,
	};

	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(worker_call(w, &call, &reply, &err), -EPROTO);
	assert_non_null(strstr(err.text, "reading 'short.so', the worker "));
	expect_alive(w);
}

/* None of our processes outlives the recorder, also when that is killed: the copy here. */
static void test_ends_with_recorder(void **state)
{
	(void)state;
	int pipe_fds[2];
	assert_int_equal(pipe(pipe_fds), 0);
	pid_t recorder = fork();
	if (recorder == 0) {
		struct worker *w = NULL;
		close(pipe_fds[0]);
		if (worker_start_with(&w, test_ops, ARRAY_SIZE(test_ops), NULL) < 0)
			_exit(1);
		/* Busy, so that it does not notice by itself. */
		struct worker_call call = {
			.op = OP_LOOP,
			.name = "x",
			.fd = STDIN_FILENO,
			.timeout_ns = 60 * SECOND,
		};
		struct worker_reply reply;
		if (write(pipe_fds[1], "x", 1) == 1)
			worker_call(w, &call, &reply, NULL);
		_exit(1);
	}
	char byte;
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
	usleep(100000);

	/* Its children and theirs, by the kernel's list. */
	uint64_t pids[2] = { 0 };
	uint64_t parent = (uint64_t)recorder;
	for (size_t i = 0; i < 2; i++) {
		char path[96];
		CLEANUP_FREE char *text = NULL;
		size_t size;
		snprintf(path, sizeof(path), "/proc/%lu/task/%lu/children", parent, parent);
		if (io_read_file(path, 4096, &text, &size) < 0)
			break; /* a kernel without CONFIG_PROC_CHILDREN */
		const char *p = text;
		assert_int_equal(parse_digits(&p, text + size, 10, &pids[i]), 0);
		parent = pids[i];
	}
	kill(recorder, SIGKILL);
	close(pipe_fds[0]);
	for (size_t i = 0; i < 2 && pids[i]; i++) {
		int alive = 0;
		for (unsigned n = 0; n < 200; n++) {
			char path[64];
			CLEANUP_FREE char *text = NULL;
			size_t size;
			snprintf(path, sizeof(path), "/proc/%lu/stat", pids[i]);
			/* Gone, or a zombie that whoever adopted it will reap. */
			alive = io_read_file(path, 4096, &text, &size) == 0 && !strstr(text, ") Z");
			if (!alive)
				break;
			usleep(20000);
		}
		assert_false(alive);
	}
	waitpid(recorder, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_deaths),
#if !defined(__SANITIZE_ADDRESS__)
		cmocka_unit_test(test_signal_is_named),
#endif
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_deaths_of_one_owner),
		cmocka_unit_test(test_restarts_are_bounded),
		cmocka_unit_test(test_memory_limit),
		cmocka_unit_test(test_output_limit),
		cmocka_unit_test(test_wanted_files),
		cmocka_unit_test(test_file_cut_off_while_read),
		cmocka_unit_test(test_ends_with_recorder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
