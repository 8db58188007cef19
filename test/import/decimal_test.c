/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "import/decimal.h"

#include <errno.h>
#include <string.h>

static struct span text(const char *s)
{
	return span_of(s, strlen(s));
}

static void test_microseconds(void **state)
{
	/* Expected values by hand: microseconds times 1000. */
	static const struct {
		const char *text;
		int64_t ns;
	} cases[] = {
		{ "0", 0 },
		{ "1", 1000 },
		{ "-1", -1000 },
		{ "1419247332972.313", 1419247332972313 },
		{ "1712195495519689.047", 1712195495519689047 }, /* 19 digits: no double holds it */
		{ "1712195495519689.0470000000000001", 1712195495519689047 },
		{ "9223372036854775.807", INT64_MAX },
		{ "-9223372036854775.807", -INT64_MAX },
		{ "0.0005", 1 }, /* half is rounded away from zero */
		{ "-0.0005", -1 },
		{ "0.00049999", 0 },
		{ "1e3", 1000000 },
		{ "1.5E-3", 2 },
		{ "1.25e+2", 125000 },
		{ "1e-999999999", 0 },
		{ "0e999999999", 0 },
		{ "00012", 12000 },
		{ "0.000000000000000000000000001", 0 },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t ns = 77;
		assert_int_equal(decimal_us(text(cases[i].text), &ns), 0);
		assert_int_equal(ns, cases[i].ns);
	}
}

static void test_bad(void **state)
{
	static const char *const bad[] = { "",    "-",   ".",   "x",    "1x",    "1 ",  "1e",
					   "1e+", "NaN", "inf", "0x10", "1.2.3", "--1", "1e5x" };
	static const char *const large[] = { "9223372036854775.808", "18446744073709551.615",
					     "1e17", "1e300", "99999999999999999999999999" };
	int64_t ns = 77;
	(void)state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(decimal_us(text(bad[i]), &ns), -EINVAL);
	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++)
		assert_int_equal(decimal_us(text(large[i]), &ns), -ERANGE);
	assert_int_equal(ns, 77);
}

static void test_u64(void **state)
{
	uint64_t n = 77;
	(void)state;

	assert_int_equal(decimal_u64(text("18446744073709551615"), &n), 0);
	assert_true(n == UINT64_MAX);
	assert_int_equal(decimal_u64(text("0x1A"), &n), 0);
	assert_int_equal(n, 26);
	assert_int_equal(decimal_u64(text("12.7"), &n), 0);
	assert_int_equal(n, 12);
	assert_int_equal(decimal_u64(text("1e3"), &n), 0);
	assert_int_equal(n, 1000);
	assert_int_equal(decimal_u64(text("-1"), &n), -ERANGE);
	assert_int_equal(decimal_u64(text("18446744073709551616"), &n), -ERANGE);
	assert_int_equal(decimal_u64(text("0x"), &n), -EINVAL);
	assert_int_equal(decimal_u64(text("stream 7"), &n), -EINVAL);
	assert_int_equal(n, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_microseconds),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_u64),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
