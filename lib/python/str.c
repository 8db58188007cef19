/* SPDX-License-Identifier: Apache-2.0 */
/* PEP 393: a str has characters of one, two or four bytes, as its widest one needs. */
#include "python/code.h"

#include "base/strbuf.h"

#include <errno.h>
#include <string.h>

static int find_chars(const struct python_access *access, const struct python_layout *layout,
		      uint64_t address, uint32_t state, uint64_t *ret)
{
	if (state & PYTHON_STR_COMPACT) {
		*ret = address +
		       (state & PYTHON_STR_ASCII ? layout->ascii_bytes : layout->compact_bytes);
		return 0;
	}
	return python_read_u64(access, address + layout->compact_bytes, ret) ? -EFAULT : 0;
}

int python_text_read(struct python_text *ret, uint8_t **memory, const struct python_access *access,
		     const struct python_layout *layout, uint64_t address)
{
	uint64_t length, chars;
	uint32_t state;

	if (python_read_u64(access, address + layout->str_length, &length) ||
	    access->read(access->data, address + layout->str_state, &state, sizeof(state)))
		return -EFAULT;
	state >>= layout->str_shift;
	uint32_t width = state & 7;
	if (width != 1 && width != 2 && width != 4)
		return -EBADMSG;
	int rc = find_chars(access, layout, address, state, &chars);
	if (rc < 0)
		return rc;
	if (length > PYTHON_TEXT_CHARS_MAX)
		length = PYTHON_TEXT_CHARS_MAX;
	uint32_t size = (uint32_t)length * width;
	CLEANUP_FREE uint8_t *bytes = malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	if (size && access->read(access->data, chars, bytes, size))
		return -EFAULT;
	*ret = (struct python_text){ span_of(bytes, size), width };
	*memory = TAKE(bytes);
	return 0;
}

static void put_utf8(struct strbuf *b, uint32_t c)
{
	if (c >= 0x110000 || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd; /* a lone surrogate stands for a byte that was no text (PEP 383) */
	if (c < 0x80) {
		strbuf_putc(b, (char)c);
		return;
	}
	if (c < 0x800) {
		strbuf_putc(b, (char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			strbuf_putc(b, (char)(0xe0 | c >> 12));
		} else {
			strbuf_putc(b, (char)(0xf0 | c >> 18));
			strbuf_putc(b, (char)(0x80 | (c >> 12 & 0x3f)));
		}
		strbuf_putc(b, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	strbuf_putc(b, (char)(0x80 | (c & 0x3f)));
}

int python_text_utf8(char **ret, const struct python_text *text)
{
	struct strbuf b = { 0 };

	strbuf_puts(&b, "");
	for (size_t i = 0; i + text->width <= text->chars.size; i += text->width) {
		uint32_t c = 0;
		memcpy(&c, text->chars.data + i, text->width); /* little endian */
		/* A NUL would end the name for all who read it. */
		put_utf8(&b, c ? c : 0xfffd);
	}
	if (text->chars.size / text->width >= PYTHON_TEXT_CHARS_MAX)
		strbuf_puts(&b, "...");
	if (strbuf_finish(&b) < 0) {
		strbuf_release(&b);
		return -ENOMEM;
	}
	*ret = b.data ? b.data : strdup("");
	return *ret ? 0 : -ENOMEM;
}
