/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

size_t utf8_next(const char *text, size_t size, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint8_t first = (uint8_t)text[0];
	size_t len = first < 0x80    ? 1
		     : first >= 0xf0 ? 4
		     : first >= 0xe0 ? 3
		     : first >= 0xc0 ? 2
				     : 0;

	*ret = UINT32_MAX;
	if (len == 1) {
		*ret = first;
		return 1;
	}
	if (!len || len > size || first > 0xf4)
		return 1;

	uint32_t code = first & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if (((uint8_t)text[i] & 0xc0) != 0x80)
			return 1;
		code = code << 6 | ((uint8_t)text[i] & 0x3f);
	}
	if (code < least[len] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 1;
	*ret = code;
	return len;
}

bool utf8_is_unsafe(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c ||
	       (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069) || code == 0xfeff || code > 0x10ffff;
}

void utf8_append_safe(struct strbuf *out, const char *text, size_t size)
{
	for (size_t i = 0; i < size;) {
		uint32_t code;
		size_t len = utf8_next(text + i, size - i, &code);
		if (utf8_is_unsafe(code))
			strbuf_puts(out, "\xef\xbf\xbd");
		else
			strbuf_add(out, text + i, len);
		i += len;
	}
}
