/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/flat.h"
#include "unit.h"

#include <string.h>

static void add(struct profile *p, int metric, const char *const *names, size_t count,
		uint64_t value)
{
	uint32_t frames[8];
	for (size_t i = 0; i < count; i++) {
		struct frame f = { .kind = FRAME_NATIVE, .name = names[i] };
		assert_int_equal(profile_frame(p, &f, &frames[i]), 0);
	}
	assert_int_equal(profile_add_path(p, frames, count, metric, value), 0);
}

static void assert_row(const struct profile *p, const struct flat_row *row, const char *name,
		       uint64_t self, uint64_t total)
{
	assert_string_equal(profile_frame_get(p, row->frame).name, name);
	assert_int_equal(row->self, self);
	assert_int_equal(row->total, total);
}

/* fib calls itself: what is below its second frame is in it once. */
static void test_recursion_counts_once(void **state)
{
	(void)state;
	CLEANUP(profile_free) struct profile *p = NULL;
	CLEANUP_FREE struct flat_row *rows = NULL;
	size_t count;
	assert_int_equal(profile_new(&p), 0);
	int m = profile_metric(p, "cpu-samples", "samples");
	add(p, m, (const char *[]){ "main", "fib" }, 2, 3);
	add(p, m, (const char *[]){ "main", "fib", "fib" }, 3, 5);
	add(p, m, (const char *[]){ "main", "fib", "add", "fib" }, 4, 7);
	add(p, m, (const char *[]){ "main", "write" }, 2, 2);
	assert_int_equal(profile_finish(p), 0);

	assert_int_equal(profile_flat(p, m, &rows, &count), 0);
	assert_int_equal(count, 5);
	assert_row(p, &rows[0], "fib", 15, 15);
	assert_row(p, &rows[1], "write", 2, 2);
	assert_int_equal(rows[2].total, 17); /* main and the root, without a value of their own */
	assert_int_equal(rows[3].total, 17);
	assert_row(p, &rows[4], "add", 0, 7);
}

static void test_empty(void **state)
{
	(void)state;
	CLEANUP(profile_free) struct profile *p = NULL;
	CLEANUP_FREE struct flat_row *rows = NULL;
	size_t count;
	assert_int_equal(profile_new(&p), 0);
	int m = profile_metric(p, "wall", "ns");
	assert_int_equal(profile_finish(p), 0);
	assert_int_equal(profile_flat(p, m, &rows, &count), 0);
	assert_int_equal(count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recursion_counts_once),
		cmocka_unit_test(test_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
