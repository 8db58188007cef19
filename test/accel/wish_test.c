/* SPDX-License-Identifier: Apache-2.0 */
/* What the user wants of the runtimes, as the command line says it, and what each of them is told. */
#include "unit.h"

#include "accel/runtimes.h"
#include "accel/wish.h"

#include <errno.h>
#include <string.h>

static bool is_wanted(const char *text, const char *runtime, bool *named)
{
	struct accel_wishes w = { 0 };
	struct err err = { "" };

	if (text)
		assert_int_equal(accel_wishes_add(&w, text, &err), 0);
	bool wanted = accel_wishes_name(&w, runtime, named);
	accel_wishes_release(&w);
	return wanted;
}

static void test_names(void **state)
{
	bool named;

	(void)state;
	assert_true(accel_wishes_name(NULL, "cuda", &named));
	assert_false(named);
	assert_true(is_wanted(NULL, "cuda", &named));
	assert_false(named);
	assert_true(is_wanted("cuda", "cuda", &named));
	assert_true(named);
	assert_false(is_wanted("cuda", "opencl", &named));
	assert_true(is_wanted("cuda,opencl", "opencl", &named));
	assert_false(is_wanted("none", "opencl", &named));
	assert_true(is_wanted("none,opencl", "opencl", &named));
}

static void assert_refused(const char *text, const char *why)
{
	struct accel_wishes w = { 0 };
	struct err err = { "" };

	assert_int_equal(accel_wishes_add(&w, text, &err), -EINVAL);
	assert_non_null(strstr(err.text, why));
	accel_wishes_release(&w);
}

static void test_refused(void **state)
{
	(void)state;
	assert_refused("tpu", "'tpu' is no accelerator's runtime: use opencl, ");
	assert_refused("cuda,", "'' is no accelerator's runtime");
	assert_refused("none:1", "'none' is no accelerator's runtime");
	assert_refused("opencl:speed=1", "'opencl' has no option 'speed'");
	assert_refused("opencl:", "'opencl' has no option ''");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
