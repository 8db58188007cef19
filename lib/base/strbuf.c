/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strbuf.h"

#include "base/vec.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void strbuf_release(struct strbuf *b)
{
	free(b->data);
	*b = (struct strbuf){ 0 };
}

void strbuf_reset(struct strbuf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->data)
		b->data[0] = '\0';
}

bool strbuf_grow(struct strbuf *b, size_t size)
{
	size_t want;
	if (b->failed || __builtin_add_overflow(b->len + 1, size, &want) ||
	    (want > b->cap && vec_grow(&b->data, &b->cap, want, 1) < 0))
		b->failed = true;
	return !b->failed;
}

void strbuf_printf(struct strbuf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !strbuf_reserve(b, (size_t)n))
		return;

	va_start(ap, fmt);
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

const char *strbuf_text(const struct strbuf *b)
{
	return b->data ? b->data : "";
}

int strbuf_finish(const struct strbuf *b)
{
	return b->failed ? -ENOMEM : 0;
}
