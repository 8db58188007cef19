/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/text.h"

#include "base/utf8.h"

#include <string.h>

/* U+FFFE and U+FFFF are valid UTF-8 but no XML 1.0 characters (section 2.2). */
static bool is_hidden(uint32_t code)
{
	return utf8_is_unsafe(code) || code == 0xfffe || code == 0xffff;
}

void text_xml(struct strbuf *out, const char *text, size_t max_bytes)
{
	size_t size = strlen(text);

	for (size_t i = 0; i < size;) {
		uint32_t code;
		if (i >= max_bytes) {
			strbuf_printf(out, "... (%zu bytes in all)", size);
			return;
		}
		size_t len = utf8_next(text + i, size - i, &code);
		if (is_hidden(code))
			strbuf_puts(out, "\xef\xbf\xbd");
		else if (code == '<')
			strbuf_puts(out, "&lt;");
		else if (code == '>')
			strbuf_puts(out, "&gt;");
		else if (code == '&')
			strbuf_puts(out, "&amp;");
		else if (code == '"')
			strbuf_puts(out, "&quot;");
		else
			strbuf_add(out, text + i, len);
		i += len;
	}
}

void text_json(struct strbuf *out, const char *text)
{
	size_t size = strlen(text);
	size_t copied = 0;

	strbuf_putc(out, '"');
	for (size_t i = 0; i < size;) {
		/* Names are nearly all plain: copy runs. */
		if (text[i] >= ' ' && text[i] <= '~' && text[i] != '"' && text[i] != '\\') {
			i++;
			continue;
		}
		strbuf_add(out, text + copied, i - copied);
		uint32_t code;
		size_t len = utf8_next(text + i, size - i, &code);
		if (is_hidden(code)) {
			strbuf_puts(out, "\xef\xbf\xbd");
		} else {
			if (code == '"' || code == '\\')
				strbuf_putc(out, '\\');
			strbuf_add(out, text + i, len);
		}
		i += len;
		copied = i;
	}
	strbuf_add(out, text + copied, size - copied);
	strbuf_putc(out, '"');
}
