/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "collect/mapping.h"

#include <stdlib.h>

/* Objects are only compared by pointer here. */
static const struct object *object(size_t number)
{
	static const char objects[16];

	return (const void *)&objects[number];
}

static void insert(struct mappings *m, uint64_t start, uint64_t end, uint64_t offset, size_t number)
{
	struct mapping mapping = {
		.start = start, .end = end, .offset = offset, .object = object(number)
	};

	assert_int_equal(mappings_insert(m, &mapping), 0);
}

static void expect(const struct mappings *m, size_t at, uint64_t start, uint64_t end,
		   uint64_t offset, size_t number)
{
	assert_true(at < m->list.len);
	assert_int_equal(m->list.data[at].start, start);
	assert_int_equal(m->list.data[at].end, end);
	assert_int_equal(m->list.data[at].offset, offset);
	assert_ptr_equal(m->list.data[at].object, object(number));
}

static void test_find(void **state)
{
	(void)state;
	struct mappings m = { 0 };

	assert_null(mappings_find(&m, 0));
	insert(&m, 0x3000, 0x4000, 0, 3);
	insert(&m, 0x1000, 0x2000, 0, 1);
	insert(&m, 0x2000, 0x3000, 0, 2);
	assert_null(mappings_find(&m, 0xfff));
	assert_ptr_equal(mappings_find(&m, 0x1000)->object, object(1));
	assert_ptr_equal(mappings_find(&m, 0x1fff)->object, object(1));
	assert_ptr_equal(mappings_find(&m, 0x2000)->object, object(2));
	assert_ptr_equal(mappings_find(&m, 0x3fff)->object, object(3));
	assert_null(mappings_find(&m, 0x4000));
	assert_null(mappings_find(&m, UINT64_MAX));
	mappings_release(&m);
}

/* A mapping in the middle of another leaves a part on each side, with its offsets. */
static void test_split(void **state)
{
	(void)state;
	struct mappings m = { 0 };

	insert(&m, 0x1000, 0x9000, 0x500, 1);
	insert(&m, 0x3000, 0x4000, 0, 2);
	assert_int_equal(m.list.len, 3);
	expect(&m, 0, 0x1000, 0x3000, 0x500, 1);
	expect(&m, 1, 0x3000, 0x4000, 0, 2);
	expect(&m, 2, 0x4000, 0x9000, 0x3500, 1);

	/* Over the seams of all three. */
	insert(&m, 0x2000, 0x5000, 0x77, 3);
	assert_int_equal(m.list.len, 3);
	expect(&m, 0, 0x1000, 0x2000, 0x500, 1);
	expect(&m, 1, 0x2000, 0x5000, 0x77, 3);
	expect(&m, 2, 0x5000, 0x9000, 0x4500, 1);

	insert(&m, 0, 0xa000, 0, 4);
	assert_int_equal(m.list.len, 1);
	expect(&m, 0, 0, 0xa000, 0, 4);
	mappings_release(&m);
}

static void test_edges(void **state)
{
	(void)state;
	struct mappings m = { 0 };

	insert(&m, 0x1000, 0x3000, 0, 1);
	insert(&m, 0x1000, 0x2000, 0, 2); /* same start */
	expect(&m, 0, 0x1000, 0x2000, 0, 2);
	expect(&m, 1, 0x2000, 0x3000, 0x1000, 1);
	insert(&m, 0x2800, 0x3000, 0, 3); /* same end */
	assert_int_equal(m.list.len, 3);
	expect(&m, 1, 0x2000, 0x2800, 0x1000, 1);
	expect(&m, 2, 0x2800, 0x3000, 0, 3);
	insert(&m, 0x2000, 0x2800, 9, 4); /* exactly */
	assert_int_equal(m.list.len, 3);
	expect(&m, 1, 0x2000, 0x2800, 9, 4);
	mappings_release(&m);
}

/* Against a page table that simply remembers who wrote last. */
static void test_random(void **state)
{
	(void)state;
	enum {
		PAGES = 64,
		ROUNDS = 2000
	};
	struct mappings m = { 0 };
	const struct object *pages[PAGES] = { NULL };
	uint64_t offsets[PAGES] = { 0 };
	unsigned int seed = 12345;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = (uint64_t)(rand_r(&seed) % PAGES);
		uint64_t size = 1 + (uint64_t)(rand_r(&seed) % 9);
		uint64_t offset = (uint64_t)rand_r(&seed);
		size_t number = (size_t)(rand_r(&seed) % 16);
		if (start + size > PAGES)
			size = PAGES - start;
		insert(&m, start, start + size, offset, number);
		for (uint64_t p = start; p < start + size; p++) {
			pages[p] = object(number);
			offsets[p] = offset + p - start;
		}
		for (uint64_t p = 0; p < PAGES; p++) {
			const struct mapping *found = mappings_find(&m, p);
			assert_ptr_equal(found ? found->object : NULL, pages[p]);
			if (found)
				assert_int_equal(found->offset + (p - found->start), offsets[p]);
		}
	}
	mappings_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_random),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
