/* SPDX-License-Identifier: Apache-2.0 */
#include "import/repair.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Events nest two or three levels; one that nests more is still to be passed as a whole. */
#define REPAIR_DEPTH_MAX 4096
/* Longest key looked for when deciding whether a quote ends a string. */
#define REPAIR_KEY_MAX 128

enum place {
	PLACE_KEY,   /* a key or the end of the object comes */
	PLACE_COLON, /* after a key */
	PLACE_VALUE,
	PLACE_AFTER, /* a value: a comma or the end comes */
};

struct repair {
	const char *p, *end;
	struct strbuf *out;
	char closer[REPAIR_DEPTH_MAX]; /* '}' or ']' of each open level */
	unsigned depth;
	enum place place;
	bool owes_comma;
};

static const char *skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p;
}

static bool in_object(const struct repair *r)
{
	return r->depth && r->closer[r->depth - 1] == '}';
}

/* 1 when a key and its colon stand at @p, 0 when not, -1 when the text ends before that is known. */
static int key_follows(const char *p, const char *end)
{
	p = skip_space(p, end);
	if (p == end)
		return -1;
	if (*p++ != '"')
		return 0;
	const char *limit = end - p > REPAIR_KEY_MAX ? p + REPAIR_KEY_MAX : end;
	while (p < limit && *p != '"' && *p != '\n')
		p++;
	if (p == limit)
		return limit == end ? -1 : 0;
	if (*p != '"')
		return 0;
	p = skip_space(p + 1, end);
	return p == end ? -1 : *p == ':';
}

/*
 * Whether the quote before @p ends a string, as far as what follows tells: 1, 0, or -1 when the
 * text ends first. A name may hold `", "` itself, so that a comma counts only before another key.
 */
static int quote_ends(const struct repair *r, const char *p)
{
	p = skip_space(p, r->end);
	if (p == r->end)
		return -1;
	if (r->place == PLACE_KEY)
		return *p == ':';
	if (*p == '}' || *p == ']')
		return 1;
	if (*p != ',')
		return 0;
	return in_object(r) ? key_follows(p + 1, r->end) : 1;
}

static void put_byte(struct repair *r, unsigned char c)
{
	if (c < 0x20)
		strbuf_printf(r->out, "\\u%04x", c);
	else
		strbuf_putc(r->out, (char)c);
}

static bool is_escape(const char *p, const char *end)
{
	if (*p != 'u')
		return *p && strchr("\"\\/bfnrt", *p);
	if (end - p < 5)
		return false;
	for (int i = 1; i < 5; i++) {
		if (!strchr("0123456789abcdefABCDEF", p[i]) || !p[i])
			return false;
	}
	return true;
}

/*
 * Whether the quote at @p opens the key behind a comma: then the string that it seems to be in has lost
 * its own quote, before that comma. 1 and where the comma is, 0, or -1 when the text ends first.
 */
static int lost_quote(const struct repair *r, const char *start, const char *p,
		      const char **ret_comma)
{
	const char *comma = p;

	while (comma > start && (comma[-1] == ' ' || comma[-1] == '\n' || comma[-1] == '\t'))
		comma--;
	if (comma == start || comma[-1] != ',' || r->place == PLACE_KEY || !in_object(r))
		return 0;
	*ret_comma = comma - 1;
	return key_follows(p, r->end);
}

/* A string whose opening quote is behind r->p: 1, 0 when the text ends, negative. */
static int repair_string(struct repair *r)
{
	const char *start = r->p, *comma;
	size_t at_comma = r->out->len + 1; /* length of the output at the last comma */

	strbuf_putc(r->out, '"');
	while (r->p < r->end) {
		char c = *r->p++;
		if (c == ',')
			at_comma = r->out->len;
		if (c == '"') {
			int ends = quote_ends(r, r->p);
			if (!ends) {
				int lost = lost_quote(r, start, r->p - 1, &comma);
				if (lost > 0) {
					r->out->len = at_comma;
					r->p = comma;
					strbuf_putc(r->out, '"');
					return 1;
				}
				ends = lost;
			}
			if (ends < 0)
				return 0;
			if (ends) {
				strbuf_putc(r->out, '"');
				return 1;
			}
			strbuf_puts(r->out, "\\\"");
			continue;
		}
		if (c != '\\') {
			put_byte(r, (unsigned char)c);
			continue;
		}
		if (r->p == r->end)
			return 0;
		/* A path that ends in a backslash: the quote behind it is meant as one. */
		if (*r->p == '"' && quote_ends(r, r->p + 1) == 1) {
			strbuf_puts(r->out, "\\\\");
			continue;
		}
		if (!is_escape(r->p, r->end)) {
			strbuf_puts(r->out, "\\\\");
			continue;
		}
		strbuf_putc(r->out, '\\');
		strbuf_putc(r->out, *r->p++);
	}
	return 0;
}

/* RFC 8259 section 6. */
static bool is_number(const char *p, const char *end)
{
	if (p < end && *p == '-')
		p++;
	if (p == end || *p < '0' || *p > '9')
		return false;
	const char *start = p;
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	if (*start == '0' && p - start > 1)
		return false;
	if (p < end && *p == '.') {
		start = ++p;
		while (p < end && *p >= '0' && *p <= '9')
			p++;
		if (p == start)
			return false;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		start = p;
		while (p < end && *p >= '0' && *p <= '9')
			p++;
		if (p == start)
			return false;
	}
	return p == end;
}

static bool is_word_byte(char c)
{
	return c && !strchr(",:{}[]\" \t\r\n", c);
}

/* NaN, inf, a number that is none, a key without its first quote. */
static int repair_word(struct repair *r)
{
	const char *start = r->p;
	while (r->p < r->end && is_word_byte(*r->p))
		r->p++;
	if (r->p == r->end)
		return 0;
	size_t size = (size_t)(r->p - start);
	if (!size)
		return -EBADMSG;

	if (r->place == PLACE_KEY) {
		strbuf_putc(r->out, '"');
		for (size_t i = 0; i < size; i++) {
			if (start[i] == '\\')
				strbuf_putc(r->out, '\\');
			put_byte(r, (unsigned char)start[i]);
		}
		strbuf_putc(r->out, '"');
		r->p += *r->p == '"';
		return 1;
	}
	bool is_literal = (size == 4 && (!memcmp(start, "true", 4) || !memcmp(start, "null", 4))) ||
			  (size == 5 && !memcmp(start, "false", 5));
	if (is_literal || is_number(start, r->p))
		strbuf_add(r->out, start, size);
	else
		strbuf_puts(r->out, "null");
	return 1;
}

static void put_comma(struct repair *r)
{
	if (r->owes_comma)
		strbuf_putc(r->out, ',');
	r->owes_comma = false;
}

static int repair_open(struct repair *r, char opener)
{
	if (r->depth == REPAIR_DEPTH_MAX)
		return -EBADMSG;
	strbuf_putc(r->out, opener);
	r->closer[r->depth++] = opener == '{' ? '}' : ']';
	r->place = opener == '{' ? PLACE_KEY : PLACE_VALUE;
	return 1;
}

/* The closing of a level; when an outer one is meant, what is open inside is closed with it. */
static int repair_close(struct repair *r, char closer)
{
	unsigned depth = r->depth;
	while (depth && r->closer[depth - 1] != closer)
		depth--;
	if (!depth)
		return -EBADMSG;
	if (r->place == PLACE_COLON)
		strbuf_puts(r->out, ":null");
	while (r->depth >= depth)
		strbuf_putc(r->out, r->closer[--r->depth]);
	r->owes_comma = false;
	r->place = PLACE_AFTER;
	return 1;
}

/* After a value: on to the next member or element. */
static void repair_separate(struct repair *r)
{
	r->owes_comma = true;
	r->place = in_object(r) ? PLACE_KEY : PLACE_VALUE;
}

/* One token: 1, 0 when the text ends, negative. */
static int repair_step(struct repair *r)
{
	char c = *r->p;

	if (c == '}' || c == ']') {
		r->p++;
		if (r->place == PLACE_VALUE && in_object(r))
			strbuf_puts(r->out, "null");
		return repair_close(r, c);
	}
	if (c == ',') {
		r->p++;
		if (r->place == PLACE_VALUE && in_object(r)) /* "key": , */
			strbuf_puts(r->out, "null");
		else if (r->place == PLACE_COLON)
			strbuf_puts(r->out, ":null");
		else if (r->place != PLACE_AFTER)
			return 1; /* one too many */
		repair_separate(r);
		return 1;
	}
	if (r->place == PLACE_AFTER) /* a comma is missing */
		repair_separate(r);
	if (r->place == PLACE_COLON) {
		if (c != ':')
			return -EBADMSG;
		r->p++;
		strbuf_putc(r->out, ':');
		r->place = PLACE_VALUE;
		return 1;
	}

	put_comma(r);
	if ((c == '{' || c == '[') && r->place == PLACE_VALUE) {
		r->p++;
		return repair_open(r, c);
	}
	int rc;
	if (c == '"') {
		r->p++;
		rc = repair_string(r);
	} else {
		rc = repair_word(r);
	}
	r->place = r->place == PLACE_KEY ? PLACE_COLON : PLACE_AFTER;
	return rc;
}

int repair_object(struct span text, struct strbuf *out, size_t *ret_size)
{
	struct repair r = {
		.p = (const char *)text.data,
		.end = (const char *)text.data + text.size,
		.out = out,
		.place = PLACE_VALUE,
	};

	do {
		r.p = skip_space(r.p, r.end);
		if (r.p == r.end)
			return 0;
		int rc = repair_step(&r);
		if (rc <= 0)
			return rc;
	} while (r.depth);

	*ret_size = (size_t)(r.p - (const char *)text.data);
	return strbuf_finish(out) < 0 ? -ENOMEM : 1;
}
