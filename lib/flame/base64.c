/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/base64.h"

#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void encode(char to[4], const uint8_t from[3])
{
	to[0] = letters[from[0] >> 2];
	to[1] = letters[(from[0] & 3) << 4 | from[1] >> 4];
	to[2] = letters[(from[1] & 15) << 2 | from[2] >> 6];
	to[3] = letters[from[2] & 63];
}

void base64_add(struct base64 *b, struct strbuf *out, const void *data, size_t size)
{
	const uint8_t *p = data;
	char text[1024];
	size_t n = 0;

	while (size) {
		while (b->rest_size < 3 && size) {
			b->rest[b->rest_size++] = *p++;
			size--;
		}
		if (b->rest_size < 3)
			break;
		encode(text + n, b->rest);
		b->rest_size = 0;
		n += 4;
		if (n == sizeof(text)) {
			strbuf_add(out, text, n);
			n = 0;
		}
	}
	strbuf_add(out, text, n);
}

void base64_end(struct base64 *b, struct strbuf *out)
{
	size_t size = b->rest_size;
	char text[4];

	if (!size)
		return;
	memset(b->rest + size, 0, 3 - size);
	encode(text, b->rest);
	memset(text + size + 1, '=', 3 - size);
	strbuf_add(out, text, 4);
	b->rest_size = 0;
}
