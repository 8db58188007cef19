/* SPDX-License-Identifier: Apache-2.0 */
#include "python/line.h"

#include "base/bisect.h"

#include <errno.h>

#define UNIT_BYTES 2 /* of byte code, since 3.6 */

static int add_start(struct python_lines *l, uint64_t offset, int64_t line)
{
	struct python_line_start start = { .offset = (uint32_t)offset, .line = (uint32_t)line };

	if (offset > UINT32_MAX || line < 0 || line > INT32_MAX)
		return -EBADMSG;
	if (l->starts.len) {
		struct python_line_start *last = vec_last(&l->starts);
		if (last->offset == start.offset) { /* nothing was between them */
			last->line = start.line;
			return 0;
		}
		if (last->line == start.line)
			return 0;
	}
	return vec_push(&l->starts, start);
}

/* Pairs: bytes of code, then lines, signed, that come between one place and the next. */
static int read_lnotab(struct python_lines *l, struct cursor *c, int64_t line)
{
	uint64_t offset = 0;
	uint8_t bytes, delta;

	int rc = add_start(l, 0, line);
	while (rc == 0 && cursor_left(c) >= 2) {
		if (cursor_u8(c, &bytes, NULL) < 0 || cursor_u8(c, &delta, NULL) < 0)
			return -EBADMSG;
		offset += bytes;
		line += (int8_t)delta;
		rc = add_start(l, offset, line);
	}
	return rc;
}

/* Pairs: bytes of code, and by how many lines, signed, that code is away from the code before;
 * -128: it has no line. */
static int read_table(struct python_lines *l, struct cursor *c, int64_t line)
{
	uint64_t offset = 0;
	uint8_t bytes, delta;
	int rc = 0;

	while (rc == 0 && cursor_left(c) >= 2) {
		if (cursor_u8(c, &bytes, NULL) < 0 || cursor_u8(c, &delta, NULL) < 0)
			return -EBADMSG;
		if ((int8_t)delta != -128)
			line += (int8_t)delta;
		if (bytes)
			rc = add_start(l, offset, (int8_t)delta == -128 ? 0 : line);
		offset += bytes;
	}
	return rc;
}

/* Six bits a byte, lowest first; bit 6: more follow. */
static int read_varint(struct cursor *c, uint32_t *ret)
{
	uint32_t value = 0;
	uint8_t byte;

	for (unsigned shift = 0; shift < 32; shift += 6) {
		if (cursor_u8(c, &byte, NULL) < 0)
			return -EBADMSG;
		value |= (uint32_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40)) {
			*ret = value;
			return 0;
		}
	}
	return -EBADMSG;
}

static int read_signed(struct cursor *c, int64_t *ret)
{
	uint32_t value;

	if (read_varint(c, &value) < 0)
		return -EBADMSG;
	*ret = value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
	return 0;
}

/* How many lines the entry whose code is @code advances; its columns are left to be skipped. */
static int line_delta(struct cursor *c, unsigned code, int64_t *ret)
{
	*ret = 0;
	if (code >= 10 && code <= 12) { /* on one line, 0 to 2 further */
		*ret = code - 10;
		return 0;
	}
	return code == 13 || code == 14 ? read_signed(c, ret) : 0;
}

static int read_location(struct python_lines *l, struct cursor *c, int64_t line)
{
	uint64_t offset = 0;
	uint8_t byte = 0;
	int64_t delta;
	int rc = 0;

	while (rc == 0 && cursor_left(c)) {
		if (cursor_u8(c, &byte, NULL) < 0 || !(byte & 0x80))
			return -EBADMSG;
		unsigned code = byte >> 3 & 0xf;
		if (line_delta(c, code, &delta) < 0)
			return -EBADMSG;
		line += delta;
		rc = add_start(l, offset, code == 15 ? 0 : line);
		offset += ((uint64_t)(byte & 7) + 1) * UNIT_BYTES;
		/* The rest of the entry is columns: its bytes have bit 7 clear. */
		while (rc == 0 && cursor_left(c) && !(c->span.data[c->pos] & 0x80))
			c->pos++;
	}
	return rc;
}

int python_lines_read(struct python_lines *ret, enum python_lines_kind kind, struct span table,
		      uint32_t first_line, struct err *err)
{
	CLEANUP(python_lines_release) struct python_lines l = { .first_line = first_line };
	struct cursor c = cursor_of(table, "line table");
	int rc;

	if (table.size > PYTHON_LINES_BYTES_MAX)
		return err_set(err, -EFBIG, "a line table of %zu bytes", table.size);
	if (kind == PYTHON_LINES_LOCATION)
		rc = read_location(&l, &c, first_line);
	else if (kind == PYTHON_LINES_TABLE)
		rc = read_table(&l, &c, first_line);
	else
		rc = read_lnotab(&l, &c, first_line);
	if (rc == -ENOMEM)
		return err_set(err, rc, "no memory for a line table");
	if (rc < 0)
		return cursor_fail(&c, err, "malformed entry");
	*ret = l;
	l = (struct python_lines){ 0 };
	return 0;
}

void python_lines_release(struct python_lines *l)
{
	vec_release(&l->starts);
}

uint32_t python_lines_at(const struct python_lines *l, int64_t offset)
{
	if (offset < 0)
		return l->first_line;
	size_t below = bisect(l->starts.len, i, l->starts.data[i].offset <= (uint64_t)offset);
	return below ? l->starts.data[below - 1].line : l->first_line;
}
