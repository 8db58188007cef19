/* SPDX-License-Identifier: Apache-2.0 */
#include "base/span.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int span_slice(struct span s, uint64_t offset, uint64_t size, struct span *ret)
{
	if (!span_contains(s, offset, size))
		return -EBADMSG;
	*ret = span_of(s.data + offset, size);
	return 0;
}

int cursor_fail(const struct cursor *c, struct err *err, const char *text)
{
	return err_set(err, -EBADMSG, "%s+0x%" PRIx64 ": %s", c->what ? c->what : "input",
		       c->base + c->pos, text);
}

static int cursor_copy(struct cursor *c, void *ret, size_t size, struct err *err)
{
	if (cursor_left(c) < size)
		return cursor_fail(c, err, "truncated");
	memcpy(ret, c->span.data + c->pos, size);
	c->pos += size;
	return 0;
}

int cursor_u8(struct cursor *c, uint8_t *ret, struct err *err)
{
	return cursor_copy(c, ret, sizeof(*ret), err);
}

int cursor_u16(struct cursor *c, uint16_t *ret, struct err *err)
{
	return cursor_copy(c, ret, sizeof(*ret), err);
}

int cursor_u32(struct cursor *c, uint32_t *ret, struct err *err)
{
	return cursor_copy(c, ret, sizeof(*ret), err);
}

int cursor_u64(struct cursor *c, uint64_t *ret, struct err *err)
{
	return cursor_copy(c, ret, sizeof(*ret), err);
}

int cursor_uleb(struct cursor *c, uint64_t *ret, struct err *err)
{
	uint64_t value = 0;
	unsigned shift = 0;

	for (size_t pos = c->pos; pos < c->span.size; pos++) {
		uint8_t byte = c->span.data[pos];
		uint64_t bits = byte & 0x7f;
		/* Padding with zero groups is legal; bits beyond the 64th are not. */
		if (shift < 64 ? (shift == 63 && bits > 1) : bits != 0)
			return cursor_fail(c, err, "LEB128 number wider than 64 bits");
		if (shift < 64)
			value |= bits << shift;
		if (!(byte & 0x80)) {
			c->pos = pos + 1;
			*ret = value;
			return 0;
		}
		if (shift < 64)
			shift += 7;
	}
	return cursor_fail(c, err, "truncated LEB128 number");
}

int cursor_sleb(struct cursor *c, int64_t *ret, struct err *err)
{
	uint64_t value = 0;
	unsigned shift = 0;

	for (size_t pos = c->pos; pos < c->span.size; pos++) {
		uint8_t byte = c->span.data[pos];
		uint64_t bits = byte & 0x7f;
		/* From the 64th bit on everything repeats the sign, padding too. */
		uint64_t sign = shift > 63 && value >> 63 ? 0x7f : 0;
		if (shift == 63 ? (bits != 0 && bits != 0x7f) : (shift > 63 && bits != sign))
			return cursor_fail(c, err, "LEB128 number wider than 64 bits");
		if (shift < 64)
			value |= bits << shift;
		if (shift < 64)
			shift += 7;
		if (!(byte & 0x80)) {
			if (shift < 64 && (byte & 0x40))
				value |= ~0ULL << shift;
			c->pos = pos + 1;
			*ret = (int64_t)value;
			return 0;
		}
	}
	return cursor_fail(c, err, "truncated LEB128 number");
}

int cursor_bytes(struct cursor *c, uint64_t size, struct span *ret, struct err *err)
{
	if (size > cursor_left(c))
		return cursor_fail(c, err, "truncated");
	*ret = span_of(c->span.data + c->pos, size);
	c->pos += size;
	return 0;
}

int cursor_cstr(struct cursor *c, struct span *ret, struct err *err)
{
	size_t left = cursor_left(c);
	const uint8_t *nul = left ? memchr(c->span.data + c->pos, 0, left) : NULL;
	if (!nul)
		return cursor_fail(c, err, "string without an end");
	*ret = span_of(c->span.data + c->pos, (size_t)(nul - (c->span.data + c->pos)));
	c->pos += ret->size + 1;
	return 0;
}

int cursor_skip(struct cursor *c, uint64_t size, struct err *err)
{
	struct span skipped;
	return cursor_bytes(c, size, &skipped, err);
}

int cursor_seek(struct cursor *c, uint64_t pos, struct err *err)
{
	if (pos > c->span.size)
		return cursor_fail(c, err, "offset beyond the end");
	c->pos = pos;
	return 0;
}
