/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/sandbox.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* The overflow id of the kernel, which every distribution calls nobody. */
#define NOBODY 65534

/* A sanitizer's report is worth more than a clean descriptor table. */
#if defined(__SANITIZE_ADDRESS__)
#define KEEPS_STDERR true
#else
#define KEEPS_STDERR false
#endif

static int drop_ids(struct err *err)
{
	if (geteuid() == 0) {
		if (setgroups(0, NULL) < 0 && errno != EPERM)
			return err_set(err, -errno, "cannot clear the worker's groups");
		/* EINVAL: in a user namespace without such an id; its root is not the machine's. */
		if ((setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
		     setresuid(NOBODY, NOBODY, NOBODY) < 0) &&
		    errno != EINVAL)
			return err_set(err, -errno, "cannot make the worker nobody");
	}
	/* Also what a binary with file capabilities holds without being root. */
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
	if (syscall(SYS_capset, &header, none) < 0)
		return err_set(err, -errno, "cannot drop the worker's capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(err, -errno, "cannot forbid the worker new privileges");
	/* Nobody else's debugger either. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return 0;
}

/* Descriptors 0 to 2 stay taken, so that no file gets a number that libraries print to. */
static int close_files(int keep_fd, struct err *err)
{
	CLEANUP_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return err_set(err, -errno, "cannot open '/dev/null'");
	for (int fd = 0; fd < (KEEPS_STDERR ? 2 : 3); fd++) {
		if (dup2(null, fd) < 0)
			return err_set(err, -errno, "cannot close the worker's descriptors");
	}
	unsigned first = 3, keep = (unsigned)keep_fd;
	if (keep > first && syscall(SYS_close_range, first, keep - 1, 0) < 0)
		return err_set(err, -errno, "cannot close the worker's descriptors");
	if (syscall(SYS_close_range, keep + 1, ~0u, 0) < 0)
		return err_set(err, -errno, "cannot close the worker's descriptors");
	null = -1; /* closed with the others */
	return 0;
}

static int set_limit(int what, uint64_t value, struct err *err)
{
	struct rlimit now, limit = { .rlim_cur = value, .rlim_max = value };

	/* A limit that is lower already stays. */
	if (getrlimit((__rlimit_resource_t)what, &now) == 0 && now.rlim_max < value)
		limit.rlim_cur = limit.rlim_max = now.rlim_max;
	if (setrlimit((__rlimit_resource_t)what, &limit) < 0)
		return err_set(err, -errno, "cannot limit the worker");
	return 0;
}

/* Fields 1 and 6 of /proc/self/statm (proc(5)), in bytes: all addresses, and data with stack. Under a
 * sanitizer that is terabytes before anything was done, so limits are set on top of it. */
static void used_bytes(uint64_t *ret_all, uint64_t *ret_data)
{
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	uint64_t fields[6] = { 0 };

	if (io_read_file("/proc/self/statm", 4096, &text, &size) == 0) {
		const char *p = text;
		for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
			if (parse_digits(&p, text + size, 10, &fields[i]) < 0)
				break;
			while (*p == ' ')
				p++;
		}
	}
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	*ret_all = fields[0] * page;
	*ret_data = fields[5] * page;
}

static int set_limits(struct err *err)
{
	uint64_t all, data;
	used_bytes(&all, &data);
	int rc = set_limit(RLIMIT_AS, all + WORKER_ADDRESS_BYTES, err);
	if (rc == 0)
		rc = set_limit(RLIMIT_DATA, data + WORKER_MEMORY_BYTES, err);
	if (rc == 0)
		rc = set_limit(RLIMIT_FSIZE, WORKER_REPLY_BYTES_MAX, err);
	if (rc == 0)
		rc = set_limit(RLIMIT_NOFILE, WORKER_FILES_MAX, err);
	if (rc == 0)
		rc = set_limit(RLIMIT_CORE, 0, err);
	return rc;
}

static void reset_signals(void)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL); /* fails for those that cannot be caught, which have it */
	/* A too large answer is an error of write(), not a death. */
	signal(SIGXFSZ, SIG_IGN);
	setsid();
}

int sandbox_drop(int keep_fd, struct err *err)
{
	/* Where memory runs out, this goes first. */
	CLEANUP_CLOSE int oom = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (oom >= 0)
		(void)io_write_all(oom, "1000", 4);
	reset_signals();
	/* Before the limit of files: who starts a worker may have more of them open. */
	int rc = close_files(keep_fd, err);
	if (rc < 0)
		return rc;
	oom = -1; /* closed with the others */
	rc = set_limits(err);
	return rc < 0 ? rc : drop_ids(err);
}

/* Everything that reading, allocating and answering take. Not among them: whatever takes a path or makes a
 * descriptor, process or executable memory. The last lines are for sanitizers and abort(). */
static const int allowed[] = {
	SCMP_SYS(read),           SCMP_SYS(pread64),
	SCMP_SYS(readv),          SCMP_SYS(write),
	SCMP_SYS(pwrite64),       SCMP_SYS(lseek),
	SCMP_SYS(close),          SCMP_SYS(fstat),
	SCMP_SYS(ftruncate),      SCMP_SYS(recvmsg),
	SCMP_SYS(sendmsg),        SCMP_SYS(poll),
	SCMP_SYS(ppoll),          SCMP_SYS(brk),
	SCMP_SYS(munmap),         SCMP_SYS(mremap),
	SCMP_SYS(madvise),        SCMP_SYS(futex),
	SCMP_SYS(clock_gettime),  SCMP_SYS(gettimeofday),
	SCMP_SYS(getrandom),      SCMP_SYS(exit),
	SCMP_SYS(exit_group),     SCMP_SYS(restart_syscall),
	SCMP_SYS(getpid),         SCMP_SYS(gettid),
	SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigreturn),   SCMP_SYS(sigaltstack),
	SCMP_SYS(sched_yield),    SCMP_SYS(sched_getaffinity),
};

static int add_rules(scmp_filter_ctx ctx)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(allowed) && rc == 0; i++)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	if (rc == 0)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				      SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (rc == 0)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				      SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	/* How glibc does fstat(); a path next to that flag gives no more than stat() as nobody. */
	if (rc == 0)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1,
				      SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH, 0));
	if (rc == 0)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				      SCMP_A1(SCMP_CMP_EQ, F_GETFD, 0));
	if (rc == 0)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				      SCMP_A1(SCMP_CMP_EQ, F_GETFL, 0));
	/* abort() */
	if (rc == 0)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				      SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
	return rc;
}

int sandbox_close(struct err *err)
{
	/* Refused, not killed: libdw tries to open files by itself, and goes on without. */
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!ctx)
		return err_set(err, -ENOMEM, "seccomp");
	int rc = add_rules(ctx);
	if (rc == 0)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	return rc < 0 ? err_set(err, rc, "cannot close the worker off (seccomp)") : 0;
}
