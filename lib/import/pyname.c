/* SPDX-License-Identifier: Apache-2.0 */
#include "import/pyname.h"

#include "base/parse.h"

#include <ctype.h>
#include <string.h>

static struct span part(const char *from, const char *to)
{
	return span_of(from, (size_t)(to - from));
}

/* path(123): function. The path may hold parentheses itself: the first "(digits): " counts. */
static bool parse_call(const char *p, const char *end, struct pyname *ret)
{
	for (const char *open = p; (open = memchr(open, '(', (size_t)(end - open))); open++) {
		const char *q = open + 1;
		uint64_t line;
		if (parse_digits(&q, end, 10, &line) < 0 || line > UINT32_MAX)
			continue;
		if (end - q < 3 || memcmp(q, "): ", 3) != 0)
			continue;
		*ret = (struct pyname){
			.file = part(p, open),
			.function = part(q + 3, end),
			.line = (uint32_t)line,
		};
		return open != p;
	}
	return false;
}

static bool parse_line(const char *p, const char *end, uint32_t *ret)
{
	uint64_t line;
	if (parse_digits(&p, end, 10, &line) < 0 || p != end || line > UINT32_MAX)
		return false;
	*ret = (uint32_t)line;
	return true;
}

/* path:123@function and path:function@123. Function names hold no ':', paths may hold '@'. */
static bool parse_at(const char *p, const char *end, struct pyname *ret)
{
	const char *colon = memrchr(p, ':', (size_t)(end - p));
	if (!colon || colon == p)
		return false;
	const char *at = memrchr(colon, '@', (size_t)(end - colon));
	if (!at || at == colon + 1 || at + 1 == end)
		return false;

	struct pyname n = { .file = part(p, colon) };
	if (parse_line(colon + 1, at, &n.line))
		n.function = part(at + 1, end);
	else if (parse_line(at + 1, end, &n.line))
		n.function = part(colon + 1, at);
	else
		return false;
	*ret = n;
	return true;
}

bool pyname_parse(struct span text, struct pyname *ret)
{
	const char *p = (const char *)text.data, *end = p + text.size;
	return parse_call(p, end, ret) || parse_at(p, end, ret);
}

bool pyname_address(struct span text, size_t *ret_before, size_t *ret_behind)
{
	static const char mark[] = " at 0x";
	const char *p = memmem(text.data, text.size, mark, sizeof(mark) - 1);
	if (!p)
		return false;
	const char *q = p + sizeof(mark) - 1, *end = (const char *)text.data + text.size;
	while (q < end && isxdigit((unsigned char)*q))
		q++;
	if (q == p + sizeof(mark) - 1)
		return false;
	*ret_before = (size_t)(p - (const char *)text.data);
	*ret_behind = (size_t)(q - (const char *)text.data);
	return true;
}
