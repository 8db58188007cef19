/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "import/sort.h"

#include <stdlib.h>

static bool before(const void *data, uint32_t a, uint32_t b)
{
	const int *keys = data;
	return keys[a] < keys[b];
}

/* Sorted, stable, and each number still there. */
static void check(const int *keys, size_t count)
{
	uint32_t *numbers = calloc(count + 1, sizeof(*numbers));
	for (size_t i = 0; i < count; i++)
		numbers[i] = (uint32_t)i;
	assert_int_equal(sort_numbers(numbers, count, before, keys), 0);
	for (size_t i = 1; i < count; i++) {
		assert_true(keys[numbers[i - 1]] <= keys[numbers[i]]);
		if (keys[numbers[i - 1]] == keys[numbers[i]])
			assert_true(numbers[i - 1] < numbers[i]);
	}
	free(numbers);
}

static void test_sorts(void **state)
{
	int keys[1000] = { 0 };
	uint32_t seed = 1;
	(void)state;

	check(keys, 0);
	for (size_t count = 1; count < 1000; count = count * 3 / 2 + 1) {
		for (unsigned kind = 0; kind < 5; kind++) {
			for (size_t i = 0; i < count; i++) {
				seed = seed * 1664525 + 1013904223;
				int random = (int)(seed >> 16);
				keys[i] = kind == 0   ? random
					  : kind == 1 ? (int)i
					  : kind == 2 ? -(int)i
					  : kind == 3 ? random % 3
						      : (int)(i % 100);
			}
			check(keys, count);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sorts) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
