/* SPDX-License-Identifier: Apache-2.0 */
#include "import/decimal.h"

#include "base/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* More digits than any 64-bit number has, and no exponent that could overflow `int`. */
#define DIGITS_MAX   19
#define EXPONENT_MAX 1000

struct decimal {
	bool is_negative;
	uint64_t digits; /* the significant ones, at most DIGITS_MAX */
	int exponent;    /* value = digits * 10^exponent */
	bool rounds_up;  /* the first digit that was cut is 5 or more */
	bool has_cut;    /* digits were cut */
};

static void decimal_digit(struct decimal *d, unsigned *count, char c, bool is_fraction)
{
	if (*count < DIGITS_MAX) {
		d->digits = d->digits * 10 + (uint64_t)(c - '0');
		*count += d->digits != 0;
		d->exponent -= is_fraction;
		return;
	}
	if (!d->has_cut)
		d->rounds_up = c >= '5';
	d->has_cut = true;
	d->exponent += !is_fraction;
}

static int decimal_exponent(const char *p, const char *end, int *ret)
{
	bool is_negative = p < end && *p == '-';
	int value = 0;

	if (p < end && (*p == '-' || *p == '+'))
		p++;
	if (p == end)
		return -EINVAL;
	for (; p < end; p++) {
		if (*p < '0' || *p > '9')
			return -EINVAL;
		if (value < EXPONENT_MAX)
			value = value * 10 + (*p - '0');
	}
	*ret = is_negative ? -value : value;
	return 0;
}

static int decimal_scan(struct span text, struct decimal *ret)
{
	const char *p = (const char *)text.data, *end = p + text.size;
	struct decimal d = { 0 };
	unsigned count = 0, seen = 0;
	bool is_fraction = false;

	if (p < end && (*p == '-' || *p == '+'))
		d.is_negative = *p++ == '-';
	for (; p < end; p++) {
		if (*p == '.' && !is_fraction) {
			is_fraction = true;
			continue;
		}
		if (*p < '0' || *p > '9')
			break;
		decimal_digit(&d, &count, *p, is_fraction);
		seen++;
	}
	if (!seen)
		return -EINVAL;
	if (p < end) {
		int exponent;
		if ((*p != 'e' && *p != 'E') || decimal_exponent(p + 1, end, &exponent) < 0)
			return -EINVAL;
		d.exponent += exponent;
	}
	*ret = d;
	return 0;
}

int decimal_parse(struct span text, int scale, int64_t *ret)
{
	struct decimal d;
	int rc = decimal_scan(text, &d);
	if (rc < 0)
		return rc;

	uint64_t value = d.digits;
	int exponent = d.exponent + scale;
	bool rounds_up = d.rounds_up && !exponent;

	/* Digits that were cut are wanted after all: more of them than 64 bits have. */
	if (exponent > 0 && d.has_cut)
		return -ERANGE;
	for (; exponent > 0 && value; exponent--) {
		if (__builtin_mul_overflow(value, UINT64_C(10), &value))
			return -ERANGE;
	}
	for (; exponent < 0 && value; exponent++) {
		rounds_up = value % 10 >= 5;
		value /= 10;
	}
	if (exponent < 0)
		rounds_up = false;
	value += rounds_up;
	if (value > INT64_MAX)
		return -ERANGE;
	*ret = d.is_negative ? -(int64_t)value : (int64_t)value;
	return 0;
}

int decimal_u64(struct span text, uint64_t *ret)
{
	const char *p = (const char *)text.data, *end = p + text.size;
	uint64_t value;
	int64_t rounded;

	if (text.size > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
		p += 2;
		int rc = parse_digits(&p, end, 16, &value);
		if (rc < 0 || p != end)
			return rc < 0 ? rc : -EINVAL;
		*ret = value;
		return 0;
	}
	if (!parse_digits(&p, end, 10, &value) && (p == end || *p == '.')) {
		*ret = value;
		return 0;
	}
	int rc = decimal_parse(text, 0, &rounded);
	if (rc < 0 || rounded < 0)
		return rc < 0 ? rc : -ERANGE;
	*ret = (uint64_t)rounded;
	return 0;
}

int decimal_double(struct span text, double *ret)
{
	char copy[64], *end;

	if (!text.size || text.size >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text.data, text.size);
	copy[text.size] = '\0';
	double value = strtod(copy, &end);
	if (*end)
		return -EINVAL;
	*ret = value;
	return 0;
}
