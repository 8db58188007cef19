/* SPDX-License-Identifier: Apache-2.0 */
#include "device/target.h"

#include "base/parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number that @text ends with behind its last blank and @mark; false: it is none. */
static bool last_number(const char *text, const char *mark, int64_t *ret, size_t *ret_at)
{
	const char *last = strrchr(text, ' ');
	size_t size = strlen(mark);
	if (!last || strncmp(last + 1, mark, size) != 0)
		return false;
	const char *p = last + 1 + size;
	bool is_negative = *p == '-';
	int64_t value = 0;
	p += is_negative;
	if (!*p)
		return false;
	for (; *p; p++) {
		if (*p < '0' || *p > '9' || value > INT32_MAX)
			return false;
		value = value * 10 + (*p - '0');
	}
	*ret = is_negative ? -value : value;
	*ret_at = (size_t)(last + 1 - text);
	return true;
}

static bool is_one_of(const char *text, const char *const *names)
{
	size_t size = strcspn(text, " ");
	for (; *names; names++) {
		size_t own = strlen(*names);
		/* A name that ends with a point stands for all that begin so. */
		if ((own == size || (own < size && (*names)[own - 1] == '.')) &&
		    !strncmp(text, *names, own))
			return true;
	}
	return false;
}

void target_write(const struct device_object *o, size_t function, uint64_t to, char *text,
		  size_t size)
{
	size_t other;

	if (object_function_at(o, to, &other) < 0) {
		snprintf(text, size, "0x%" PRIx64, to);
		return;
	}
	const struct device_function *f = &o->functions.data[other].pub;
	if (function == other)
		snprintf(text, size, "0x%" PRIx64, to - f->offset);
	else if (to == f->offset)
		snprintf(text, size, "%s", f->name);
	else
		snprintf(text, size, "%s+0x%" PRIx64, f->name, to - f->offset);
}

/* "jne -23", "callq 100": from the end of the instruction. */
void target_x86(const struct device_object *o, size_t function, uint64_t offset, size_t length,
		char *text, size_t size)
{
	int64_t distance;
	size_t at;
	if ((text[0] == 'j' || !strncmp(text, "call", 4)) && last_number(text, "", &distance, &at))
		target_write(o, function, offset + length + (uint64_t)distance, text + at,
			     size - at);
}

/* "b.ne #-20", "cbz x0, #24": from its beginning. */
void target_arm(const struct device_object *o, size_t function, uint64_t offset, size_t length,
		char *text, size_t size)
{
	static const char *const names[] = { "b",    "b.",  "bc.",  "bl", "cbz",
					     "cbnz", "tbz", "tbnz", NULL };
	int64_t distance;
	size_t at;
	(void)length;
	if (is_one_of(text, names) && last_number(text, "#", &distance, &at))
		target_write(o, function, offset + (uint64_t)distance, text + at, size - at);
}

/* "s_cbranch_scc1 65489": 16 bits with a sign, in words, from the next instruction. */
void target_amdgpu(const struct device_object *o, size_t function, uint64_t offset, size_t length,
		   char *text, size_t size)
{
	int64_t words;
	size_t at;
	if ((strncmp(text, "s_cbranch_", 10) != 0 && strncmp(text, "s_branch ", 9) != 0) ||
	    !last_number(text, "", &words, &at) || words < 0 || words > UINT16_MAX)
		return;
	int64_t distance = 4 * (int64_t)(int16_t)(uint16_t)words;
	target_write(o, function, offset + length + (uint64_t)distance, text + at, size - at);
}

/* "jmpi L368", "goto (16|M0) L216 L392", "call (16|M0) r127.0 L760 {$3.src}": from the function's beginning. */
void target_iga(const struct device_object *o, size_t function, uint64_t offset, size_t length,
		char *text, size_t size)
{
	uint64_t begin = o->functions.data[function].pub.offset;
	(void)offset;
	(void)length;
	for (char *at = text; (at = strstr(at, " L"));) {
		char *digits = at + 2, *end = digits + strspn(digits, "0123456789");
		uint64_t place;
		char rest[256], place_text[256];
		const char *p = digits;
		at += 2;
		if (end == digits || (*end && *end != ' ') || strlen(end) >= sizeof(rest) ||
		    parse_digits(&p, end, 10, &place) < 0)
			continue;
		strcpy(rest, end);
		target_write(o, function, begin + place, place_text, sizeof(place_text));
		snprintf(digits - 1, size - (size_t)(digits - 1 - text), "%s%s", place_text, rest);
	}
}
