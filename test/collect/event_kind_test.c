/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "collect/event_kind.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

static void test_names(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint32_t type;
		uint64_t config;
		bool user_only, kernel_only, is_time;
	} cases[] = {
		{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, false, true },
		{ "cpu-cycles:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true, false, true },
		{ "cpu-clock:k", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, false, true, true },
		{ "task-clock:uk", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false, false,
		  true },
		{ "cycles:pp", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, false, true },
		{ "cycles:upp", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true, false, true },
		{ "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false, false, false },
		{ "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false, false, false },
		{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, false, false,
		  false },
		{ "r1c2", PERF_TYPE_RAW, 0x1c2, false, false, false },
		{ "r3c:u", PERF_TYPE_RAW, 0x3c, true, false, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event_kind kind;
		struct err err;
		if (event_kind_parse(cases[i].text, &kind, &err) < 0)
			fail_msg("%s", err.text);
		assert_string_equal(kind.name, cases[i].text);
		assert_int_equal(kind.type, cases[i].type);
		assert_int_equal(kind.config, cases[i].config);
		assert_int_equal(kind.user_only, cases[i].user_only);
		assert_int_equal(kind.kernel_only, cases[i].kernel_only);
		assert_int_equal(kind.is_time, cases[i].is_time);
		assert_false(kind.is_tracepoint);
	}
}

static void test_none(void **state)
{
	(void)state;
	static const char *const none[] = {
		"",     "nonsense", "rxyz",        "r",           "cycles:x",         ":u",
		"a:b:", "../x:id",  "sched:../id", "no_such:one", "sched:no_such:uu",
	};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		struct event_kind kind;
		struct err err;
		assert_int_equal(event_kind_parse(none[i], &kind, &err), -EINVAL);
		assert_true(strlen(err.text) > 0);
	}
	char name[EVENT_KIND_NAME_BYTES + 10];
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(event_kind_parse(name, &(struct event_kind){ 0 }, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
