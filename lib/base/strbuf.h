/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that grows. A failed allocation is remembered, later calls do nothing, and strbuf_finish()
 * reports it, so that building a text needs one check, at its end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* All-zero is an empty one; @data is NUL-terminated once anything was added. */
struct strbuf {
	char *data;
	size_t len, cap;
	bool failed;
};

void strbuf_release(struct strbuf *b);
void strbuf_reset(struct strbuf *b);
bool strbuf_grow(struct strbuf *b, size_t size);

/* Room for @size more and the NUL; false without memory, or after a failure. Inline, as are those
 * below, since some texts are made of millions of short ones. */
static inline bool strbuf_reserve(struct strbuf *b, size_t size)
{
	return (!b->failed && size < b->cap - b->len) || strbuf_grow(b, size);
}

static inline void strbuf_add(struct strbuf *b, const void *data, size_t size)
{
	if (!strbuf_reserve(b, size))
		return;
	if (size)
		memcpy(b->data + b->len, data, size);
	b->len += size;
	b->data[b->len] = '\0';
}

/* The same for what mostly is short: @data has STRBUF_SHORT bytes behind it in any case, which are
 * copied without a call, as their number is known. */
#define STRBUF_SHORT 64u
static inline void strbuf_add_short(struct strbuf *b, const void *data, size_t size)
{
	if (size > STRBUF_SHORT) {
		strbuf_add(b, data, size);
		return;
	}
	if (!strbuf_reserve(b, STRBUF_SHORT))
		return;
	memcpy(b->data + b->len, data, STRBUF_SHORT);
	b->len += size;
	b->data[b->len] = '\0';
}

static inline void strbuf_puts(struct strbuf *b, const char *text)
{
	strbuf_add(b, text, strlen(text));
}

static inline void strbuf_putc(struct strbuf *b, char c)
{
	strbuf_add(b, &c, 1);
}

__attribute__((format(printf, 2, 3))) void strbuf_printf(struct strbuf *b, const char *fmt, ...);
/* The text so far, "" when empty; borrowed. */
const char *strbuf_text(const struct strbuf *b);
/* 0, or -ENOMEM when any call before had no memory. */
int strbuf_finish(const struct strbuf *b);
