/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/lines.h"

#include "base/parse.h"

#include <errno.h>
#include <string.h>

static void span_advance(struct span *s, size_t count)
{
	s->data += count;
	s->size -= count;
}

bool lines_next(struct lines *l, struct span *ret)
{
	if (!l->rest.size)
		return false;
	const uint8_t *newline = memchr(l->rest.data, '\n', l->rest.size);
	size_t size = newline ? (size_t)(newline - l->rest.data) : l->rest.size;
	*ret = span_of(l->rest.data, size);
	span_advance(&l->rest, newline ? size + 1 : size);
	l->number++;
	return true;
}

int lines_fail(const struct lines *l, struct err *err, const char *text)
{
	return err_set(err, -EBADMSG, "%s: line %zu: %s", l->what ? l->what : "input", l->number,
		       text);
}

bool field_number(struct span *line, int base, uint64_t *ret)
{
	if (!line->size)
		return false;
	const char *start = (const char *)line->data, *p = start;
	if (parse_digits(&p, start + line->size, base, ret) < 0)
		return false;
	span_advance(line, (size_t)(p - start));
	return true;
}

bool field_char(struct span *line, char c)
{
	if (!line->size || line->data[0] != (uint8_t)c)
		return false;
	span_advance(line, 1);
	return true;
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

bool field_word(struct span *line, struct span *ret)
{
	size_t size = 0;

	while (size < line->size && !is_blank(line->data[size]))
		size++;
	if (!size)
		return false;
	*ret = span_of(line->data, size);
	span_advance(line, size);
	return true;
}

void field_skip_blanks(struct span *line)
{
	while (line->size && is_blank(line->data[0]))
		span_advance(line, 1);
}

bool field_prefix(struct span *line, const char *prefix)
{
	size_t size = strlen(prefix);

	if (line->size < size || memcmp(line->data, prefix, size) != 0)
		return false;
	span_advance(line, size);
	return true;
}
