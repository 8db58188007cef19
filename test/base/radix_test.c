/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/radix.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	const struct radix_item *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

/* As qsort() does, for keys of every width; equal ones stay in their order, which `value` counts. */
static void test_like_qsort(void **state)
{
	(void)state;
	uint64_t seed = 1;

	for (size_t count = 0; count < 3000; count += 1 + count / 3) {
		for (unsigned bits = 1; bits <= 64; bits += 7) {
			struct radix_item *items = calloc(count + 1, sizeof(*items));
			struct radix_item *expected = calloc(count + 1, sizeof(*items));
			assert_non_null(items);
			assert_non_null(expected);
			for (size_t i = 0; i < count; i++) {
				seed = seed * 6364136223846793005u + 1442695040888963407u;
				items[i].key = seed >> (64 - bits);
				items[i].value = i;
				expected[i] = items[i];
			}
			qsort(expected, count, sizeof(*expected), compare);
			assert_int_equal(radix_sort(items, count), 0);
			assert_memory_equal(items, expected, count * sizeof(*items));
			free(items);
			free(expected);
		}
	}
}

static void test_edges(void **state)
{
	(void)state;
	struct radix_item items[] = { { UINT64_MAX, 0 }, { 0, 1 }, { 1ull << 63, 2 }, { 0, 3 } };
	static const uint64_t order[] = { 1, 3, 2, 0 };

	assert_int_equal(radix_sort(NULL, 0), 0);
	assert_int_equal(radix_sort(items, 4), 0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(items[i].value, order[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_qsort),
		cmocka_unit_test(test_edges),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
