/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "proc/maps.h"
#include "proc/read.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static struct lines text_of(const char *text)
{
	return lines_of(span_of(text, strlen(text)), "maps");
}

static void assert_span(struct span s, const char *text)
{
	assert_int_equal(s.size, strlen(text));
	assert_memory_equal(s.data, text, s.size);
}

/* The examples of proc_pid_maps(5). */
static void test_manual(void **state)
{
	(void)state;
	struct lines text =
		text_of("00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus-daemon\n"
			"00e03000-00e24000 rw-p 00000000 00:00 0           [heap]\n"
			"35b1a21000-35b1a22000 rw-s 001a3000 fd:0a 135870 /tmp/a b (deleted)\n"
			"f2c6ff8c000-7f2c7078c000 rw-p 00000000 00:00 0    ");
	struct proc_mapping m;
	struct err err;

	assert_int_equal(proc_maps_next(&text, &m, &err), 1);
	assert_int_equal(m.start, 0x400000);
	assert_int_equal(m.end, 0x452000);
	assert_true(m.is_readable && m.is_executable && !m.is_writable && !m.is_shared);
	assert_int_equal(m.major, 8);
	assert_int_equal(m.minor, 2);
	assert_int_equal(m.inode, 173521);
	assert_false(m.is_deleted);
	assert_span(m.path, "/usr/bin/dbus-daemon");

	assert_int_equal(proc_maps_next(&text, &m, &err), 1);
	assert_span(m.path, "[heap]");

	assert_int_equal(proc_maps_next(&text, &m, &err), 1);
	assert_int_equal(m.offset, 0x1a3000);
	assert_int_equal(m.major, 0xfd);
	assert_int_equal(m.minor, 0xa);
	assert_true(m.is_shared && m.is_deleted && m.is_writable);
	assert_span(m.path, "/tmp/a b");

	assert_int_equal(proc_maps_next(&text, &m, &err), 1);
	assert_int_equal(m.path.size, 0);
	assert_int_equal(proc_maps_next(&text, &m, &err), 0);
}

static void test_malformed(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",
		"00400000",
		"00452000-00400000 r-xp 00000000 08:02 1 /a", /* ends before it starts */
		"00400000-00400000 r-xp 00000000 08:02 1 /a", /* empty */
		"10000000000000000-00400000 r-xp 0 0:0 0",    /* more than 64 bits */
		"00400000-00452000 rwxq 00000000 08:02 1",
		"00400000-00452000 r-xp 00000000 0802 1",
		"00400000-00452000 r-xp 00000000 08:02 ",
	};
	struct proc_mapping m;
	struct err err;

	for (size_t i = 1; i < ARRAY_SIZE(bad); i++) {
		struct lines text = text_of(bad[i]);
		assert_int_equal(proc_maps_next(&text, &m, &err), -EBADMSG);
		assert_non_null(strstr(err.text, "maps: line 1: "));
	}
	struct lines empty = text_of(bad[0]);
	assert_int_equal(proc_maps_next(&empty, &m, &err), 0);
}

/* Our own maps: this function's address lies in an executable mapping of this program. */
static void test_self(void **state)
{
	(void)state;
	CLEANUP_FREE char *data = NULL;
	char exe[4096];
	size_t size;
	struct proc_mapping m;
	struct err err;
	uint64_t here = (uint64_t)(uintptr_t)test_self;
	bool found = false;
	int rc;

	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	assert_true(n > 0);
	exe[n] = '\0';
	assert_int_equal(proc_read((uint32_t)getpid(), "maps", PROC_MAPS_MAX_BYTES, &data, &size),
			 0);
	struct lines text = lines_of(span_of(data, size), "maps");
	while ((rc = proc_maps_next(&text, &m, &err)) > 0) {
		if (here < m.start || here >= m.end)
			continue;
		found = true;
		assert_true(m.is_executable);
		assert_span(m.path, exe);
	}
	assert_int_equal(rc, 0);
	assert_true(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_manual),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_self),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
