/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds-checked reading of bytes that nobody vouches for: files, rings, /proc, the target.
 *
 * A `span` is a borrowed view. A `cursor` walks one; each cursor_*() either succeeds and advances,
 * or fails with -EBADMSG, leaves position and output alone, and sets a text of the form
 * "WHAT+0x1234: truncated ...". All integers are little endian, as every format read here is.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
	const uint8_t *data;
	size_t size;
};

static inline struct span span_of(const void *data, size_t size)
{
	return (struct span){ .data = data, .size = size };
}

/* True when [@offset, @offset + @size) lies inside; never overflows. */
static inline bool span_contains(struct span s, uint64_t offset, uint64_t size)
{
	return offset <= s.size && size <= s.size - offset;
}

/* The part [@offset, @offset + @size) of @s, or -EBADMSG. */
int span_slice(struct span s, uint64_t offset, uint64_t size, struct span *ret);

struct cursor {
	struct span span;
	size_t pos;
	const char *what; /* borrowed; "path: section", for messages; NULL: "input" */
	uint64_t base;    /* added to positions in messages: where the span lies in its file */
};

static inline struct cursor cursor_of(struct span s, const char *what)
{
	return (struct cursor){ .span = s, .what = what };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return c->span.size - c->pos;
}

int cursor_u8(struct cursor *c, uint8_t *ret, struct err *err);
int cursor_u16(struct cursor *c, uint16_t *ret, struct err *err);
int cursor_u32(struct cursor *c, uint32_t *ret, struct err *err);
int cursor_u64(struct cursor *c, uint64_t *ret, struct err *err);
/* DWARF's LEB128; more than 64 bits of value is an error. */
int cursor_uleb(struct cursor *c, uint64_t *ret, struct err *err);
int cursor_sleb(struct cursor *c, int64_t *ret, struct err *err);
/* @size bytes, as a view into the span. */
int cursor_bytes(struct cursor *c, uint64_t size, struct span *ret, struct err *err);
/* A NUL-terminated string; the view does not include the NUL, which is there. */
int cursor_cstr(struct cursor *c, struct span *ret, struct err *err);
int cursor_skip(struct cursor *c, uint64_t size, struct err *err);
int cursor_seek(struct cursor *c, uint64_t pos, struct err *err);
/* Set "WHAT+0xPOS: @text" and return -EBADMSG, for what the caller finds wrong at this place. */
int cursor_fail(const struct cursor *c, struct err *err, const char *text);
