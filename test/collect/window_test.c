/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "collect/window.h"

static bool wants(struct windows *w, uint64_t time_ns)
{
	const struct record rec = { .type = RECORD_CPU_SAMPLE,
				    .cpu_sample = { .time_ns = time_ns } };

	return windows_want(w, &rec);
}

/* Armed at 1000: from 100 to 200 and from 300 on. */
static void test_asked(void **state)
{
	(void)state;
	static const struct session_window asked[] = { { 100, 200 }, { 300, UINT64_MAX } };
	struct windows w = { .asked = asked, .asked_count = 2 };
	bool is_on = false;

	assert_int_equal(windows_start(&w, 1000, true), 0);
	assert_false(windows_are_open(&w));
	assert_int_equal(windows_next_ns(&w, 1000), 1100);
	assert_false(windows_due(&w, 1050, &is_on));
	assert_true(windows_due(&w, 1100, &is_on));
	assert_true(is_on);
	assert_int_equal(windows_switch(&w, 1100, true), 1);
	assert_int_equal(windows_switch(&w, 1101, true), 0);
	assert_int_equal(windows_next_ns(&w, 1150), 1200);
	assert_true(windows_due(&w, 1205, &is_on));
	assert_false(is_on);
	assert_int_equal(windows_switch(&w, 1205, false), 1);
	assert_true(windows_due(&w, 1300, &is_on));
	assert_int_equal(windows_switch(&w, 1300, true), 1);
	assert_int_equal(windows_next_ns(&w, 1300), UINT64_MAX);
	assert_false(windows_due(&w, 99999, &is_on));

	assert_false(wants(&w, 1099));
	assert_true(wants(&w, 1100));
	assert_true(wants(&w, 1204));
	assert_false(wants(&w, 1205));
	assert_false(wants(&w, 1299));
	assert_true(wants(&w, 99999));
	/* What is of no moment is not left out. */
	assert_true(windows_want(&w, &(struct record){ .type = RECORD_PROCESS }));
	windows_release(&w);
}

static void test_on_demand(void **state)
{
	(void)state;
	struct windows w = { 0 };
	bool is_on;

	assert_true(wants(&w, 1)); /* not started: nothing is left out yet */
	assert_int_equal(windows_start(&w, 1000, false), 0);
	assert_int_equal(windows_next_ns(&w, 1000), UINT64_MAX);
	assert_false(windows_due(&w, 5000, &is_on));
	assert_false(wants(&w, 1500));
	assert_int_equal(windows_switch(&w, 2000, true), 1);
	assert_true(wants(&w, 2500));
	assert_false(wants(&w, 1999));
	windows_release(&w);
}

static void test_always(void **state)
{
	(void)state;
	struct windows w = { 0 };

	assert_int_equal(windows_start(&w, 1000, true), 1);
	assert_true(windows_are_open(&w));
	assert_true(wants(&w, 1000));
	windows_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asked),
		cmocka_unit_test(test_on_demand),
		cmocka_unit_test(test_always),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
