/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of comma-separated values (RFC 4180). */
#pragma once

#include "base/strbuf.h"

/* In quotes, inner ones doubled. */
static inline void csv_quote(struct strbuf *out, const char *text)
{
	strbuf_putc(out, '"');
	for (; *text; text++) {
		if (*text == '"')
			strbuf_putc(out, '"');
		strbuf_putc(out, *text);
	}
	strbuf_putc(out, '"');
}
