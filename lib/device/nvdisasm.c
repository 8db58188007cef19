/* SPDX-License-Identifier: Apache-2.0 */
#include "device/nvdisasm.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "device/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* 100,000 instructions take 1.5 s and 60 MB. */
#define RUN_SECONDS 20
#define RUN_BYTES   (2ull << 30)
/* An instruction of 16 bytes becomes about 100. */
#define TEXT_RATIO 32u
#define TEXT_BASE  65536u
/* The kernel's overflow id. */
#define NOBODY 65534

/* ---- where it is ---- */

static int open_program(const char *path)
{
	struct stat st;
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return -ENOENT;
	return TAKE_FD(fd);
}

/* Below the first folder of @list, divided by colons, that has it. */
static int open_in_path(const char *list, const char *name)
{
	while (list && *list) {
		char path[4096];
		size_t size = strcspn(list, ":");
		/* Not what lies in the current folder, which an empty entry means. */
		if (*list == '/' && snprintf(path, sizeof(path), "%.*s/%s", (int)size, list, name) <
					    (int)sizeof(path)) {
			int fd = open_program(path);
			if (fd >= 0)
				return fd;
		}
		list += size + (list[size] == ':');
	}
	return -ENOENT;
}

static int find_program(void)
{
	const char *named = getenv("NVDISASM");
	if (named)
		return open_program(named);
	int fd = open_in_path(getenv("PATH"), "nvdisasm");
	if (fd < 0)
		fd = open_in_path(getenv("CUDA_HOME"), "bin/nvdisasm");
	return fd < 0 ? open_in_path("/usr/local/cuda", "bin/nvdisasm") : fd;
}

/* ---- in the child ---- */

/* Files for reading, and to read its own limits. */
static int allow_reading(scmp_filter_ctx ctx)
{
	int rc = seccomp_rule_add(
		ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
		SCMP_A2(SCMP_CMP_MASKED_EQ, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0));
	return rc ? rc
		  : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
				     SCMP_A2(SCMP_CMP_EQ, 0, 0));
}

/* What starting a program, reading files and writing the answer take; the rest is refused. */
static int close_off(void)
{
	static const int allowed[] = {
		SCMP_SYS(read),
		SCMP_SYS(readv),
		SCMP_SYS(pread64),
		SCMP_SYS(write),
		SCMP_SYS(writev),
		SCMP_SYS(lseek),
		SCMP_SYS(close),
		SCMP_SYS(fstat),
		SCMP_SYS(stat),
		SCMP_SYS(newfstatat),
		SCMP_SYS(access),
		SCMP_SYS(readlink),
		SCMP_SYS(readlinkat),
		SCMP_SYS(getcwd),
		SCMP_SYS(mmap),
		SCMP_SYS(mprotect),
		SCMP_SYS(munmap),
		SCMP_SYS(mremap),
		SCMP_SYS(madvise),
		SCMP_SYS(brk),
		SCMP_SYS(execveat),
		SCMP_SYS(arch_prctl),
		SCMP_SYS(set_tid_address),
		SCMP_SYS(set_robust_list),
		SCMP_SYS(rseq),
		SCMP_SYS(futex),
		SCMP_SYS(getrandom),
		SCMP_SYS(clock_gettime),
		SCMP_SYS(uname),
		SCMP_SYS(sysinfo),
		SCMP_SYS(getpid),
		SCMP_SYS(gettid),
		SCMP_SYS(rt_sigaction),
		SCMP_SYS(rt_sigprocmask),
		SCMP_SYS(rt_sigreturn),
		SCMP_SYS(sigaltstack),
		SCMP_SYS(exit),
		SCMP_SYS(exit_group),
	};
	return child_close_off(allowed, ARRAY_SIZE(allowed), allow_reading);
}

static bool become_nobody(void)
{
	if (geteuid() != 0)
		return true;
	return setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
	       setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

/* Descriptor 3 is the program, 4 the code, 1 the answer. */
__attribute__((noreturn)) static void child_run(const char *arch, int program, int code, int out)
{
	const char *const argv[] = { "nvdisasm", "-b", arch, "/proc/self/fd/4", NULL };
	const char *const envp[] = { "LC_ALL=C", NULL };
	int high[3];

	child_begin(RUN_SECONDS, RUN_BYTES);
	/* Out of the way of the numbers that they get. */
	high[0] = fcntl(program, F_DUPFD, 10);
	high[1] = fcntl(code, F_DUPFD, 10);
	high[2] = fcntl(out, F_DUPFD, 10);
	int null = open("/dev/null", O_RDWR);
	if (high[0] < 0 || high[1] < 0 || high[2] < 0 || null < 0 || dup2(null, 0) < 0 ||
	    dup2(high[2], 1) < 0 || dup2(null, 2) < 0 || dup3(high[0], 3, O_CLOEXEC) < 0 ||
	    dup2(high[1], 4) < 0 || syscall(SYS_close_range, 5u, ~0u, 0) < 0 || !become_nobody() ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || close_off() < 0)
		_exit(127);
	syscall(SYS_execveat, 3, "", argv, envp, AT_EMPTY_PATH);
	_exit(127);
}

/* ---- in the parent ---- */

/* A file in memory that nobody, too, may read; it has no name. */
static int keep_code(struct span code)
{
	CLEANUP_CLOSE int fd = memfd_create("code", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	int rc = io_write_all(fd, code.data, code.size);
	return rc < 0 ? rc : TAKE_FD(fd);
}

static int read_answer(int fd, size_t max, char **ret, size_t *ret_size)
{
	CLEANUP_FREE char *text = malloc(max + 1);
	size_t size = 0;
	int rc = text ? 0 : -ENOMEM;
	uint64_t deadline = child_deadline(RUN_SECONDS * 1000);

	while (rc == 0) {
		int64_t n = child_read(fd, text + size, max - size, deadline);
		if (n == 0)
			break;
		size += n > 0 ? (size_t)n : 0;
		rc = n < 0 || size == max ? -EPIPE : 0;
	}
	if (rc < 0)
		return rc;
	text[size] = '\0';
	*ret = TAKE(text);
	*ret_size = size;
	return 0;
}

int nvdisasm_run(const char *arch, struct span code, char **ret, size_t *ret_size)
{
	CLEANUP_CLOSE int program = find_program();
	int fds[2];

	if (program < 0)
		return -ENOENT;
	CLEANUP_CLOSE int file = keep_code(code);
	if (file < 0 || pipe2(fds, O_CLOEXEC) < 0)
		return -EPIPE;
	CLEANUP_CLOSE int in = fds[0];
	pid_t pid = fork();
	if (pid == 0)
		child_run(arch, program, file, fds[1]);
	close(fds[1]);
	if (pid < 0)
		return -EPIPE;
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	int rc = read_answer(in, code.size * TEXT_RATIO + TEXT_BASE, &text, &size);
	int status = child_end(pid, rc < 0);
	if (rc == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
		rc = -EPIPE;
	if (rc < 0)
		return rc;
	*ret = TAKE(text);
	*ret_size = size;
	return 0;
}
