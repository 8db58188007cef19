/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "proc/read.h"
#include "proc/status.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct span text_of(const char *text)
{
	return span_of(text, strlen(text));
}

static void assert_span(struct span s, const char *text)
{
	assert_int_equal(s.size, strlen(text));
	assert_memory_equal(s.data, text, s.size);
}

static void test_status(void **state)
{
	(void)state;
	static const char text[] = "Name:\tbash\n"
				   "State:\tS (sleeping)\n"
				   "Tgid:\t3515\n"
				   "PPid:\t3452\n"
				   "TracerPid:\t7\n"
				   "Uid:\t1000\t1001\t1002\t1003\n"
				   "Gid:\t100\t101\t102\t103\n"
				   "NStgid:\t3515\t12\t1\n"
				   "CapEff:\tfffffffffffffeff\n";
	struct proc_status s;
	struct err err;

	assert_int_equal(proc_status_parse(text_of(text), "status", &s, &err), 0);
	assert_span(s.name, "bash");
	assert_int_equal(s.state, 'S');
	assert_int_equal(s.tgid, 3515);
	assert_int_equal(s.parent, 3452);
	assert_int_equal(s.tracer, 7);
	assert_int_equal(s.uid, 1001);
	assert_int_equal(s.gid, 101);
	assert_int_equal(s.ns_pid, 1);
	assert_int_equal(s.effective_capabilities, 0xfffffffffffffeff);

	/* Without the line for the user something is wrong. */
	static const char cut[] = "Name:\tbash\nTgid:\t1\nPPid:\t0\n";
	assert_int_equal(proc_status_parse(text_of(cut), "status", &s, &err), -EBADMSG);
	static const char huge[] = "Tgid:\t4294967296\n";
	assert_int_equal(proc_status_parse(text_of(huge), "status", &s, &err), -EBADMSG);
}

static void test_stat(void **state)
{
	(void)state;
	/* A command may be named ") R 1 (": fields are counted from the last parenthesis. */
	static const char text[] = "42 () R 1 () S 1 42 42 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 "
				   "123456 8192 100 18446744073709551615 0\n";
	struct proc_stat s;
	struct err err;

	assert_int_equal(proc_stat_parse(text_of(text), "stat", &s, &err), 0);
	assert_span(s.comm, ") R 1 (");
	assert_int_equal(s.state, 'S');
	assert_int_equal(s.start_ticks, 123456);
	assert_int_equal(proc_stat_parse(text_of("42 (a) S 1 2"), "stat", &s, &err), -EBADMSG);
	assert_int_equal(proc_stat_parse(text_of("42 )a( S 1 2"), "stat", &s, &err), -EBADMSG);
}

/* Our own start lies between boot and now. */
static void test_self(void **state)
{
	(void)state;
	CLEANUP_FREE char *data = NULL;
	size_t size;
	struct proc_stat s;
	struct proc_status status;
	struct timespec now;
	struct err err;
	uint32_t pid = (uint32_t)getpid();

	assert_int_equal(proc_read(pid, "stat", PROC_SMALL_MAX_BYTES, &data, &size), 0);
	assert_int_equal(proc_stat_parse(span_of(data, size), "stat", &s, &err), 0);
	clock_gettime(CLOCK_BOOTTIME, &now);
	uint64_t start_s = s.start_ticks / (uint64_t)sysconf(_SC_CLK_TCK);
	assert_in_range(start_s, (uint64_t)now.tv_sec - 600, (uint64_t)now.tv_sec);

	free(TAKE(data));
	assert_int_equal(proc_read(pid, "status", PROC_SMALL_MAX_BYTES, &data, &size), 0);
	assert_int_equal(proc_status_parse(span_of(data, size), "status", &status, &err), 0);
	assert_int_equal(status.tgid, pid);
	assert_int_equal(status.parent, getppid());
	assert_int_equal(status.uid, geteuid());
}

static void test_cgroup(void **state)
{
	(void)state;
	assert_span(proc_cgroup_path(text_of("3:pids:/a:b\n0::/user.slice\n")), "/user.slice");
	assert_span(proc_cgroup_path(text_of("3:pids:/a:b\n1:cpu:/c\n")), "/a:b");
	assert_span(proc_cgroup_path(text_of("")), "");
}

static void test_gone(void **state)
{
	(void)state;
	char *data;
	size_t size;

	/* pid_max is at most 2^22. */
	assert_int_equal(proc_read(1u << 30, "status", 100, &data, &size), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status), cmocka_unit_test(test_stat),
		cmocka_unit_test(test_self),   cmocka_unit_test(test_cgroup),
		cmocka_unit_test(test_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
