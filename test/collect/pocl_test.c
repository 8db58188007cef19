/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "collect/pocl.h"

#include "base/cleanup.h"

/* Paths that POCL 3.1 was seen to use, and neighbours of them. */
static void test_paths(void **state)
{
	(void)state;
	static const char *const kernels[] = {
		"/root/.cache/pocl/kcache/JO/OHIJ/mm_basic/16-16-1-goffs0-smallgrid/mm_basic.so",
		"/root/.cache/pocl/uncached/_UNCACHED_rX7yvJ/k/16-16-1-goffs0-smallgrid/k.so",
		"/cache/JO/OHIJ/k/4096-1-1/k.so",
		"k/1-1-1/k.so",
	};
	static const char *const others[] = {
		"",
		".so",
		"/.so",
		"/usr/lib/x86_64-linux-gnu/libpocl.so",
		"/a/k/16-16-1/other.so",
		"/a/k/16-16/k.so",
		"/a/k/16-16-1x/k.so",
		"/a/k/-16-1/k.so",
		"/a/k/16-16-1/k.so.2",
		"/16-16-1/k.so",
		"16-16-1/k.so",
	};

	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++)
		assert_true(pocl_is_kernel_path(kernels[i]));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(pocl_is_kernel_path(others[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
