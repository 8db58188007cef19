/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "collect/order.h"

#include <stdbool.h>
#include <stdlib.h>

static void add(struct order *o, uint64_t time_ns, uint32_t kind, const char *text)
{
	assert_int_equal(order_add(o, time_ns, kind, text, (uint32_t)strlen(text) + 1), 0);
}

static void expect(struct order *o, uint64_t until_ns, const char *text)
{
	struct order_item item;
	void *bytes;

	if (!text) {
		assert_false(order_next(o, until_ns, &item, &bytes));
		return;
	}
	assert_true(order_next(o, until_ns, &item, &bytes));
	assert_string_equal(bytes, text);
	assert_int_equal(item.size, strlen(text) + 1);
	assert_int_equal((uintptr_t)bytes % 8, 0);
}

/* By time, then kind (side-band first), then arrival. */
static void test_sorts(void **state)
{
	(void)state;
	struct order o = { 0 };

	expect(&o, UINT64_MAX, NULL);
	add(&o, 30, 1, "late");
	add(&o, 10, 1, "sample");
	add(&o, 10, 0, "mapping");
	add(&o, 10, 1, "second sample");
	add(&o, 20, 0, "");
	expect(&o, UINT64_MAX, "mapping");
	expect(&o, UINT64_MAX, "sample");
	expect(&o, UINT64_MAX, "second sample");
	expect(&o, UINT64_MAX, "");
	expect(&o, UINT64_MAX, "late");
	expect(&o, UINT64_MAX, NULL);
	assert_int_equal(o.late, 0);
	order_release(&o);
}

/* What is younger than the limit waits, and is sorted in with what comes after. */
static void test_holds_back(void **state)
{
	(void)state;
	struct order o = { 0 };

	add(&o, 100, 0, "a");
	add(&o, 300, 0, "d");
	expect(&o, 200, "a");
	expect(&o, 200, NULL);
	assert_int_equal(order_compact(&o), 0);
	add(&o, 250, 0, "c");
	add(&o, 220, 0, "b");
	assert_int_equal(o.late, 0);
	add(&o, 50, 0, "too late");
	assert_int_equal(o.late, 1);
	expect(&o, 400, "too late");
	expect(&o, 400, "b");
	expect(&o, 400, "c");
	expect(&o, 400, "d");
	assert_int_equal(order_compact(&o), 0);
	assert_int_equal(o.items.len, 0);
	assert_int_equal(o.bytes.len, 0);
	order_release(&o);
}

/* Two rings, each in order, drained at arbitrary moments: what comes out never goes back in time
 * as long as nothing is released before all rings have passed it. */
static void test_two_rings(void **state)
{
	(void)state;
	struct order o = { 0 };
	unsigned int seed = 7;
	uint64_t clock[2] = { 0 }, last = 0, given = 0, added = 0;

	for (int drain = 0; drain < 500; drain++) {
		for (int ring = 0; ring < 2; ring++) {
			int count = rand_r(&seed) % 20;
			for (int i = 0; i < count; i++) {
				clock[ring] += 1 + (uint64_t)(rand_r(&seed) % 100);
				assert_int_equal(
					order_add(&o, clock[ring], (uint32_t)ring, &clock[ring], 8),
					0);
				added++;
			}
		}
		uint64_t until = clock[0] < clock[1] ? clock[0] : clock[1];
		struct order_item item;
		void *bytes;
		while (order_next(&o, until, &item, &bytes)) {
			uint64_t stored;
			memcpy(&stored, bytes, 8);
			assert_int_equal(stored, item.time_ns);
			assert_true(item.time_ns >= last);
			last = item.time_ns;
			given++;
		}
		assert_int_equal(order_compact(&o), 0);
	}
	assert_int_equal(o.late, 0);
	assert_int_equal(given + o.items.len - o.next, added);
	order_release(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sorts),
		cmocka_unit_test(test_holds_back),
		cmocka_unit_test(test_two_rings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
