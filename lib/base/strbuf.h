/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that grows. A failed allocation is remembered, later calls do nothing, and strbuf_finish()
 * reports it, so that building a text needs one check, at its end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* All-zero is an empty one; @data is NUL-terminated once anything was added. */
struct strbuf {
	char *data;
	size_t len, cap;
	bool failed;
};

void strbuf_release(struct strbuf *b);
void strbuf_reset(struct strbuf *b);
void strbuf_add(struct strbuf *b, const void *data, size_t size);
void strbuf_puts(struct strbuf *b, const char *text);
void strbuf_putc(struct strbuf *b, char c);
__attribute__((format(printf, 2, 3))) void strbuf_printf(struct strbuf *b, const char *fmt, ...);
/* The text so far, "" when empty; borrowed. */
const char *strbuf_text(const struct strbuf *b);
/* 0, or -ENOMEM when any call before had no memory. */
int strbuf_finish(const struct strbuf *b);
