/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of EU stall records to kernels. The addresses are those that Intel's driver gives a module of two kernels. */
#include "unit.h"

#include "accel/xe_code.h"

#include <errno.h>
#include <stdlib.h>

#define PRODUCT 0x8000fffe0000
#define SMOOTH  0x8000fffd0000

static void add(struct xe_code *c, uint64_t address, uint64_t size, uint32_t process,
		uint32_t kernel)
{
	const struct accel_code code = {
		.process = process, .kernel = kernel, .address = address, .size = size
	};
	assert_int_equal(xe_code_add(c, &code), 0);
}

static void removed(struct xe_code *c, uint32_t process, uint64_t address, uint64_t size)
{
	const struct accel_code code = {
		.time_ns = 50, .process = process, .address = address, .size = size
	};
	xe_code_remove(c, &code);
}

/* After all that happens here without a time of its own. */
static enum xe_place find(struct xe_code *c, uint64_t address, struct accel_code *ret, uint64_t *at)
{
	return xe_code_find(c, &(struct xe_query){ address, 100, 200 }, ret, at);
}

static void assert_at(struct xe_code *c, uint64_t address, uint32_t kernel, uint64_t offset)
{
	struct accel_code r;
	uint64_t at;
	assert_int_equal(find(c, address, &r, &at), XE_PLACE_ONE);
	assert_int_equal(r.kernel, kernel);
	assert_int_equal(at, offset);
}

static void assert_place(struct xe_code *c, uint64_t address, enum xe_place place)
{
	struct accel_code r;
	uint64_t at;
	assert_int_equal(find(c, address, &r, &at), place);
}

/* Records have the lower half of the address. */
static void test_modulo(void **state)
{
	CLEANUP(xe_code_free) struct xe_code *c = NULL;

	(void)state;
	assert_int_equal(xe_code_new(&c, false), 0);
	assert_place(c, 0xfffe0050, XE_PLACE_NONE);
	add(c, PRODUCT, 736, 1, 10);
	add(c, SMOOTH, 704, 1, 11);
	assert_at(c, 0xfffe0000, 10, 0);
	assert_at(c, 0xfffe02d8, 10, 0x2d8);
	assert_place(c, 0xfffe02e0, XE_PLACE_NONE);
	assert_at(c, 0xfffd0198, 11, 0x198);
	assert_place(c, 0xfffcfff8, XE_PLACE_NONE);
	/* No kernel reaches beyond the 4 GiB that it is in. */
	assert_int_equal(
		xe_code_add(c, &(struct accel_code){ .address = 0x8000fffffff0, .size = 32 }),
		-EINVAL);
	assert_int_equal(xe_code_add(c, &(struct accel_code){ .address = PRODUCT }), -EINVAL);
	add(c, 0x8000fffffff0, 16, 1, 12);
	assert_at(c, 0xfffffff8, 12, 8);
}

/* Xe3p: whole ones, so that two heaps are two places. */
static void test_whole(void **state)
{
	CLEANUP(xe_code_free) struct xe_code *c = NULL;

	(void)state;
	assert_int_equal(xe_code_new(&c, true), 0);
	add(c, PRODUCT, 736, 1, 10);
	add(c, PRODUCT + (1ull << 32), 736, 1, 11);
	assert_at(c, PRODUCT + 8, 10, 8);
	assert_at(c, PRODUCT + (1ull << 32) + 8, 11, 8);
	assert_place(c, 0xfffe0008, XE_PLACE_NONE);
}

/* Two processes at one address: said, not guessed; where one alone is, it is that one. */
static void test_collision(void **state)
{
	CLEANUP(xe_code_free) struct xe_code *c = NULL;

	(void)state;
	assert_int_equal(xe_code_new(&c, false), 0);
	add(c, PRODUCT, 736, 1, 10);
	add(c, PRODUCT, 100, 2, 20);
	assert_place(c, 0xfffe0060, XE_PLACE_SEVERAL);
	assert_at(c, 0xfffe0064, 10, 100);
	/* A third, which begins later and ends before. */
	add(c, PRODUCT + 0x200, 16, 3, 30);
	assert_place(c, 0xfffe0200, XE_PLACE_SEVERAL);
	assert_at(c, 0xfffe0210, 10, 0x210);
	removed(c, 2, 0, 0);
	assert_at(c, 0xfffe0060, 10, 0x60);
	removed(c, 1, PRODUCT, 736);
	assert_place(c, 0xfffe0060, XE_PLACE_NONE);
	assert_at(c, 0xfffe0200, 30, 0);
}

/* A module is unloaded, and another comes to its place. */
static void test_again(void **state)
{
	CLEANUP(xe_code_free) struct xe_code *c = NULL;

	(void)state;
	assert_int_equal(xe_code_new(&c, false), 0);
	add(c, PRODUCT, 736, 1, 10);
	add(c, PRODUCT + 512, 736, 1, 11); /* nobody said that the first had gone */
	assert_place(c, 0xfffe0008, XE_PLACE_NONE);
	assert_at(c, 0xfffe0208, 11, 8);
	removed(c, 2, PRODUCT, 4096);
	assert_at(c, 0xfffe0208, 11, 8);
	removed(c, 1, PRODUCT, UINT64_MAX);
	assert_place(c, 0xfffe0208, XE_PLACE_NONE);
}

/* What is asked for lies in the past, and code comes and goes meanwhile. */
static void test_times(void **state)
{
	CLEANUP(xe_code_free) struct xe_code *c = NULL;
	struct accel_code r, code = { .process = 1, .address = PRODUCT, .size = 736 };
	uint64_t at;

	(void)state;
	assert_int_equal(xe_code_new(&c, false), 0);
	for (uint32_t i = 1; i <= 3; i++) { /* of 1000, 2000, 3000 */
		code.time_ns = 1000 * i;
		code.kernel = i;
		assert_int_equal(xe_code_add(c, &code), 0);
	}
	code.time_ns = 3500;
	xe_code_remove(c, &code);
	const struct {
		uint64_t begin_ns, end_ns;
		enum xe_place place;
		uint32_t kernel;
	} cases[] = {
		{ 100, 900, XE_PLACE_NONE, 0 },         { 900, 1100, XE_PLACE_ONE, 1 },
		{ 1100, 1900, XE_PLACE_ONE, 1 },        { 1900, 2100, XE_PLACE_REPLACED, 0 },
		{ 2100, 2200, XE_PLACE_ONE, 2 },        { 3400, 3600, XE_PLACE_ONE, 3 },
		{ 3600, UINT64_MAX, XE_PLACE_NONE, 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct xe_query q = { 0xfffe0010, cases[i].begin_ns, cases[i].end_ns };
		assert_int_equal(xe_code_find(c, &q, &r, &at), cases[i].place);
		if (cases[i].place == XE_PLACE_ONE)
			assert_int_equal(r.kernel, cases[i].kernel);
	}
	xe_code_forget(c, 2500);
	assert_int_equal(xe_code_find(c, &(struct xe_query){ 0xfffe0010, 1100, 1900 }, &r, &at),
			 XE_PLACE_NONE);
	assert_int_equal(xe_code_find(c, &(struct xe_query){ 0xfffe0010, 2600, 2700 }, &r, &at),
			 XE_PLACE_ONE);
	/* Told again, it is still the same. */
	code.time_ns = 4000;
	assert_int_equal(xe_code_add(c, &code), 0);
	code.time_ns = 4100;
	assert_int_equal(xe_code_add(c, &code), 0);
	assert_int_equal(xe_code_find(c, &(struct xe_query){ 0xfffe0010, 3900, 4200 }, &r, &at),
			 XE_PLACE_ONE);
}

/* Beyond some hundred thousand kernels that are all there at once, nothing is taken and nothing lost. */
static void test_without_end(void **state)
{
	CLEANUP(xe_code_free) struct xe_code *c = NULL;
	struct accel_code code = { .process = 1, .kernel = 7, .size = 8 };
	size_t taken = 0;

	(void)state;
	if (!getenv("ACCEL_PROF_TEST_FULL"))
		skip(); /* seconds of CPU time, as the one who does it would have to pay */
	assert_int_equal(xe_code_new(&c, true), 0);
	for (uint64_t i = 0; i < 1u << 18; i++) {
		code.address = 1 + i * 16;
		taken += xe_code_add(c, &code) == 0;
	}
	assert_int_equal(taken, 1u << 17);
	assert_at(c, 1, 7, 0);
	/* What goes makes room. */
	removed(c, 1, 0, 0);
	xe_code_forget(c, 51);
	add(c, 1, 8, 2, 9);
	assert_at(c, 1, 9, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modulo),      cmocka_unit_test(test_whole),
		cmocka_unit_test(test_without_end), cmocka_unit_test(test_collision),
		cmocka_unit_test(test_again),       cmocka_unit_test(test_times),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
