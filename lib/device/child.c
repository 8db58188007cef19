/* SPDX-License-Identifier: Apache-2.0 */
#include "device/child.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/parse.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void set_limit(__rlimit_resource_t what, uint64_t value)
{
	struct rlimit now, limit = { .rlim_cur = value, .rlim_max = value };
	if (getrlimit(what, &now) == 0 && now.rlim_max > value)
		setrlimit(what, &limit);
}

/* All addresses in use, in bytes: the first field of /proc/self/statm (proc(5)). */
static uint64_t used_bytes(void)
{
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	uint64_t pages = 0;
	if (io_read_file("/proc/self/statm", 4096, &text, &size) == 0) {
		const char *p = text;
		if (parse_digits(&p, text + size, 10, &pages) < 0)
			return 0;
	}
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void child_begin(unsigned cpu_seconds, uint64_t memory_bytes)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	set_limit(RLIMIT_CORE, 0);
	set_limit(RLIMIT_CPU, cpu_seconds);
#if !defined(__SANITIZE_ADDRESS__) /* has terabytes of addresses */
	set_limit(RLIMIT_AS, used_bytes() + memory_bytes);
#else
	(void)used_bytes;
	(void)memory_bytes;
#endif
}

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t child_deadline(unsigned milliseconds)
{
	return now_ms() + milliseconds;
}

int64_t child_read(int fd, void *data, size_t size, uint64_t deadline)
{
	for (;;) {
		uint64_t now = now_ms();
		if (now >= deadline)
			return -EPIPE;
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		int rc = poll(&pfd, 1, (int)(deadline - now));
		if (rc == 0 || (rc < 0 && errno == EINTR))
			continue;
		ssize_t n = rc > 0 ? read(fd, data, size) : -1;
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		return n < 0 ? -EPIPE : n;
	}
}

int child_end(pid_t pid, bool is_killed)
{
	int status = -1;
	if (is_killed)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int child_close_off(const int *allowed, size_t count, int (*add)(scmp_filter_ctx ctx))
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc = ctx ? 0 : -ENOMEM;
	for (size_t i = 0; i < count && !rc; i++)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	rc = rc ? rc : add(ctx);
	/* abort() */
	if (!rc)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				      SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
	if (!rc)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	return rc;
}
