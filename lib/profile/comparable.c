/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/comparable.h"

#include <ctype.h>
#include <string.h>

static size_t digits(const char *p, const char *end)
{
	const char *start = p;
	while (p < end && isdigit((unsigned char)*p))
		p++;
	return (size_t)(p - start);
}

static size_t hex_digits(const char *p, const char *end)
{
	const char *start = p;
	while (p < end && isxdigit((unsigned char)*p))
		p++;
	return (size_t)(p - start);
}

/* "sm80", "sm_90a", "gfx942", "gfx90a": a word of its own. */
static bool is_architecture(const char *word, const char *end)
{
	if (end - word > 3 && !strncmp(word, "gfx", 3))
		return word + 3 + hex_digits(word + 3, end) == end;
	if (end - word < 3 || strncmp(word, "sm", 2) != 0)
		return false;
	word += word[2] == '_' ? 3 : 2;
	size_t n = digits(word, end);
	return n >= 2 && (word + n == end || (word + n + 1 == end && strchr("af", word[n])));
}

/* " (train.py:12)" at the end: where the ':' is; NULL when there is none. */
static const char *python_line(const char *name)
{
	const char *colon = strrchr(name, ':');
	if (!colon || !colon[1])
		return NULL;
	const char *end = colon + 1 + strspn(colon + 1, "0123456789");
	return end > colon + 1 && end[0] == ')' && !end[1] ? colon : NULL;
}

/* What of a word varies: an address, or the number behind '#'. */
static void add_word(struct strbuf *out, const char *p, const char *end)
{
	while (p < end) {
		size_t n;
		if (*p == '0' && p + 1 < end && p[1] == 'x' && (n = hex_digits(p + 2, end)) > 3) {
			strbuf_puts(out, "0x*");
			p += 2 + n;
		} else if (*p == '#' && (n = digits(p + 1, end))) {
			strbuf_puts(out, "#*");
			p += 1 + n;
		} else {
			strbuf_putc(out, *p++);
		}
	}
}

/* The end without "_12", as compilers number what they generate; the whole, where nothing is left. */
static const char *without_counter(const char *name, const char *end)
{
	const char *p = end;
	while (p > name && isdigit((unsigned char)p[-1]))
		p--;
	return p < end && p > name + 1 && p[-1] == '_' ? p - 1 : end;
}

/* The end without " #2". */
static const char *without_number(const char *name, const char *end)
{
	const char *p = end;
	while (p > name && isdigit((unsigned char)p[-1]))
		p--;
	return p < end && p > name + 2 && p[-1] == '#' && p[-2] == ' ' ? p - 2 : end;
}

static void add_kernel(struct strbuf *out, const char *name)
{
	const char *end = without_number(name, name + strlen(name));
	bool is_first = true;

	if (!memchr(name, ' ', (size_t)(end - name)))
		end = without_counter(name, end);
	for (const char *p = name; p < end;) {
		const char *stop = memchr(p, ' ', (size_t)(end - p));
		stop = stop ? stop : end;
		if (!is_architecture(p, stop)) {
			if (!is_first)
				strbuf_putc(out, ' ');
			is_first = false;
			add_word(out, p, stop);
		}
		p = stop < end ? stop + 1 : end;
	}
}

void comparable_name(struct strbuf *out, const struct frame *frame)
{
	const char *name = frame->name, *end = name + strlen(name);

	switch (frame->kind) {
	case FRAME_KERNEL:
		add_kernel(out, name);
		break;
	case FRAME_PYTHON: {
		const char *line = python_line(name);
		add_word(out, name, line ? line : end);
		strbuf_puts(out, line ? ")" : "");
		break;
	}
	case FRAME_PROCESS: {
		/* Ranks and processes of two runs have nothing but their place in common. */
		const char *space = strrchr(name, ' ');
		bool is_number = space && space[1] && !space[1 + strspn(space + 1, "0123456789()")];
		add_word(out, name, is_number ? space : end);
		break;
	}
	default:
		add_word(out, name, end);
		break;
	}
}

void comparable_family(struct strbuf *out, const struct frame *kernel)
{
	size_t start = out->len;
	comparable_name(out, kernel);
	/* "Memcpy HtoD" and "Memset (Device)" say with their second word what they do. */
	if (out->failed || !strncmp(strbuf_text(out) + start, "Mem", 3))
		return;
	const char *space = strchr(strbuf_text(out) + start, ' ');
	if (space) {
		out->len = (size_t)(space - out->data);
		out->data[out->len] = 0;
	}
}
