/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parse.h"

#include <errno.h>
#include <string.h>

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'Z')
		return c - 'A' + 10;
	return 99;
}

int parse_digits(const char **text, const char *end, int base, uint64_t *ret)
{
	const char *p = *text;
	uint64_t value = 0;

	for (; p < end && digit_value(*p) < base; p++) {
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit_value(*p), &value))
			return -ERANGE;
	}
	if (p == *text)
		return -EINVAL;
	*text = p;
	*ret = value;
	return 0;
}

int parse_u64(const char *text, int base, uint64_t *ret)
{
	const char *end = text + strlen(text);
	uint64_t value;

	if (base == 16 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		text += 2;
	int rc = parse_digits(&text, end, base, &value);
	if (rc < 0)
		return rc;
	if (text != end)
		return -EINVAL;
	*ret = value;
	return 0;
}

int parse_u32(const char *text, int base, uint32_t *ret)
{
	uint64_t value;
	int rc = parse_u64(text, base, &value);
	if (rc < 0)
		return rc;
	if (value > UINT32_MAX)
		return -ERANGE;
	*ret = (uint32_t)value;
	return 0;
}

int parse_size(const char *text, uint64_t *ret_bytes)
{
	static const char units[] = "BKMG";
	const char *end = text + strlen(text);
	uint64_t value;

	int rc = parse_digits(&text, end, 10, &value);
	if (rc < 0)
		return rc;
	if (text != end) {
		const char *unit = strchr(units, *text);
		if (!unit || text + 1 != end)
			return -EINVAL;
		uint64_t factor = 1ULL << (10 * (unit - units));
		if (__builtin_mul_overflow(value, factor, &value))
			return -ERANGE;
	}
	*ret_bytes = value;
	return 0;
}

int parse_duration(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "", 1000000000 }, { "s", 1000000000 },  { "ms", 1000000 },      { "us", 1000 },
		{ "ns", 1 },        { "m", 60000000000 }, { "h", 3600000000000 },
	};
	const char *end = text + strlen(text);
	uint64_t whole, fraction = 0, scale = 1;

	int rc = parse_digits(&text, end, 10, &whole);
	if (rc < 0)
		return rc;
	if (text < end && *text == '.') {
		const char *start = ++text;
		/* Nine digits are nanoseconds of a second; more would only overflow. */
		const char *stop = end - start > 9 ? start + 9 : end;
		rc = parse_digits(&text, stop, 10, &fraction);
		if (rc < 0)
			return rc;
		for (const char *p = start; p < text; p++)
			scale *= 10;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		uint64_t ns;
		if (strcmp(text, units[i].name) != 0)
			continue;
		if (__builtin_mul_overflow(whole, units[i].ns, &ns))
			return -ERANGE;
		/* fraction < 10^9 and ns <= 3.6 * 10^12: the product fits below 2^72, hence 128 bits. */
		uint64_t part = (uint64_t)((unsigned __int128)fraction * units[i].ns / scale);
		if (__builtin_add_overflow(ns, part, &ns))
			return -ERANGE;
		*ret_ns = ns;
		return 0;
	}
	return -EINVAL;
}
