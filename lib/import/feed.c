/* SPDX-License-Identifier: Apache-2.0 */
#include "import/feed.h"

#include "base/vec.h"
#include "import/repair.h"

#include <errno.h>
#include <string.h>

/* Large enough that the calls do not show, small enough to stay in the processor's cache. */
#define FEED_CHUNK_BYTES (128u << 10)
/* An element larger than this is not kept: it has no raw text and cannot be repaired. Ten times
 * the largest event seen, which lists the ranks of a large job. */
#define FEED_ELEMENT_MAX (4u << 20)
/* Looking for the end of a broken element costs its length, and most of it again for the next where
 * an end is missing: beyond this many times the input nothing is mended any more. */
#define FEED_REPAIR_FACTOR 16

void feed_init(struct feed *f, struct stream *stream, const struct feed_client *client,
	       bool is_strict)
{
	*f = (struct feed){
		.stream = stream,
		.client = *client,
		.element = SIZE_MAX,
		.is_strict = is_strict,
	};
}

void feed_release(struct feed *f)
{
	if (f->yajl)
		yajl_free(f->yajl);
	free(f->data);
	strbuf_release(&f->fixed);
	*f = (struct feed){ .element = SIZE_MAX };
}

void feed_enter(struct feed *f, bool is_member)
{
	f->place = is_member ? FEED_MEMBER : FEED_BARE;
}

void feed_leave(struct feed *f)
{
	f->place = FEED_AFTER;
}

size_t feed_position(const struct feed *f)
{
	return f->chunk + yajl_get_bytes_consumed(f->yajl);
}

void feed_element_begin(struct feed *f)
{
	if (!f->is_repaired)
		f->element = feed_position(f) - 1;
}

void feed_element_end(struct feed *f)
{
	f->element = SIZE_MAX;
}

struct span feed_raw(const struct feed *f, size_t from, size_t to)
{
	if (f->is_repaired || f->element == SIZE_MAX || from < f->element || to < from ||
	    to > f->len)
		return span_of("", 0);
	return span_of(f->data + from, to - from);
}

uint64_t feed_offset(const struct feed *f)
{
	return f->base + (f->element == SIZE_MAX ? f->chunk : f->element);
}

int feed_refuse(struct feed *f, const char *why)
{
	f->refusal = why;
	return 0;
}

int feed_stop(struct feed *f, int code)
{
	f->stop = code;
	return 0;
}

static void feed_note(struct feed *f, uint64_t offset, const char *why)
{
	if (f->damage.dropped + f->damage.repaired)
		return;
	f->damage.first_offset = offset;
	size_t size = strcspn(why, "\n");
	if (size >= sizeof(f->damage.first_why))
		size = sizeof(f->damage.first_why) - 1;
	memcpy(f->damage.first_why, why, size);
}

void feed_count_drop(struct feed *f, uint64_t offset, const char *why)
{
	feed_note(f, offset, why);
	f->damage.dropped++;
}

static void feed_count_repair(struct feed *f, uint64_t offset, const char *why)
{
	feed_note(f, offset, why);
	f->damage.repaired++;
}

/* A parser that stands right before an element of the array (or before the input, at first). */
static int feed_restart(struct feed *f)
{
	const char *prefix = f->place == FEED_BARE ? "[" : f->place == FEED_MEMBER ? "{\"\":[" : "";

	if (f->yajl)
		yajl_free(f->yajl);
	f->live = (yajl_callbacks){ 0 };
	token_watch_init(&f->tokens);
	f->yajl = yajl_alloc(&f->live, &f->tokens.memory, f->client.data);
	if (!f->yajl)
		return -ENOMEM;
	/* Names are bytes here; they are made safe where they are shown. */
	yajl_config(f->yajl, yajl_dont_validate_strings, 1);
	yajl_config(f->yajl, yajl_allow_trailing_garbage, 1);
	yajl_parse(f->yajl, (const unsigned char *)prefix, strlen(prefix));
	f->live = f->client.callbacks;
	f->refusal = NULL;
	return 0;
}

/* More bytes behind those that are there: how many, 0 at the end. */
static int64_t feed_more(struct feed *f, struct err *err)
{
	if (f->at_end)
		return 0;
	if (vec_reserve(f, f->len + FEED_CHUNK_BYTES) < 0)
		return err_set(err, -ENOMEM, "cannot read '%s'", stream_name(f->stream));
	int64_t n = stream_read(f->stream, f->data + f->len, FEED_CHUNK_BYTES, err);
	if (n < 0)
		return n;
	f->at_end = !n;
	f->len += (size_t)n;
	f->bytes += (uint64_t)n;
	return n;
}

/* Forget the bytes before @from. */
static void feed_forget(struct feed *f, size_t from)
{
	if (f->len > from)
		memmove(f->data, f->data + from, f->len - from);
	f->len -= from;
	f->base += from;
	f->chunk -= from;
	if (f->element != SIZE_MAX)
		f->element -= from;
}

/* All bytes are parsed: keep those of the element that is not complete. */
static void feed_compact(struct feed *f)
{
	f->chunk = f->len;
	if (f->element != SIZE_MAX && f->len - f->element > FEED_ELEMENT_MAX)
		f->element = f->len; /* raw text asked for from before is refused */
	feed_forget(f, f->element == SIZE_MAX ? f->len : f->element);
}

static int feed_fatal(struct feed *f, uint64_t offset, const char *why, struct err *err)
{
	return err_set(err, -EBADMSG, "'%s': byte %llu: %.*s", stream_name(f->stream),
		       (unsigned long long)offset, (int)strcspn(why, "\n"), why);
}

/*
 * The next place at or after @pos where the array can go on: an element or its end. Sets
 * @ret_skipped to whether anything but white space and one comma was passed.
 */
static int feed_resync(struct feed *f, size_t pos, bool *ret_skipped, struct err *err)
{
	unsigned commas = 0;
	bool skipped = false;

	for (;; pos++) {
		if (pos >= f->len) {
			f->chunk = f->len;
			f->element = SIZE_MAX;
			feed_forget(f, f->len);
			pos = 0;
			int64_t n = feed_more(f, err);
			if (n < 0)
				return (int)n;
			if (!n)
				break;
		}
		char c = f->data[pos];
		if (c == '{' || c == ']')
			break;
		if (c == ',')
			commas++;
		else if (!strchr(" \t\r\n", c) || !c)
			skipped = true;
	}
	f->chunk = pos;
	*ret_skipped = skipped || commas > 1;
	return 0;
}

/* The bracket behind a key and its colon at @pos, or f->len. */
static size_t bracket_behind(const struct feed *f, size_t pos)
{
	while (pos < f->len && f->data[pos] && strchr("\": \t\r\n", f->data[pos]))
		pos++;
	return pos < f->len && f->data[pos] == '[' ? pos : f->len;
}

/* Find the array behind the error at @pos by its key. */
static int feed_find_array(struct feed *f, size_t pos, const char *why, struct err *err)
{
	const char *key = f->client.array_key;
	size_t key_size = strlen(key), beyond = key_size + 16; /* the key, a colon, some space */
	uint64_t offset = f->base + pos;

	for (;;) {
		const char *at =
			pos < f->len ? memmem(f->data + pos, f->len - pos, key, key_size) : NULL;
		size_t found = at ? (size_t)(at - f->data) : f->len;
		if (found < f->len && (f->len - found > beyond || f->at_end)) {
			size_t bracket = bracket_behind(f, found + key_size);
			pos = found + key_size;
			if (bracket == f->len)
				continue;
			f->place = FEED_MEMBER;
			f->chunk = bracket + 1;
			feed_count_drop(f, offset, why);
			f->client.jump(f->client.data);
			return feed_restart(f);
		}
		if (!at) /* its beginning may be there */
			found = f->len - pos > key_size ? f->len - key_size : pos;
		f->chunk = found;
		feed_forget(f, found);
		pos = 0;
		int64_t n = feed_more(f, err);
		if (n < 0)
			return (int)n;
		if (!n)
			return feed_fatal(f, offset, why, err);
	}
}

/* The refused element, repaired, through a parser of its own: 1 when it was given out. */
static int feed_repaired(struct feed *f, struct span text)
{
	static const unsigned char open[] = "[";

	f->live = (yajl_callbacks){ 0 };
	yajl_free(f->yajl);
	f->yajl = yajl_alloc(&f->live, NULL, f->client.data);
	if (!f->yajl)
		return -ENOMEM;
	yajl_config(f->yajl, yajl_dont_validate_strings, 1);
	yajl_parse(f->yajl, open, 1);
	f->live = f->client.callbacks;
	f->is_repaired = true;
	f->refusal = NULL;
	yajl_status status = yajl_parse(f->yajl, text.data, text.size);
	f->is_repaired = false;
	if (f->stop)
		return f->stop;
	if (status == yajl_status_ok)
		return 1;
	f->client.abandon(f->client.data);
	return 0;
}

/*
 * The element as strict JSON in f->fixed: 1, and in @ret_size what it took of the input; 0 when the
 * input ends first; -EBADMSG: beyond repair, or not worth it.
 */
static int feed_repair(struct feed *f, size_t *ret_size, struct err *err)
{
	for (;;) {
		struct span text = span_of(f->data + f->element, f->len - f->element);
		if (f->scanned / FEED_REPAIR_FACTOR > f->bytes + FEED_ELEMENT_MAX)
			return -EBADMSG;
		strbuf_reset(&f->fixed);
		int rc = repair_object(text, &f->fixed, ret_size);
		f->scanned += rc > 0 ? *ret_size : text.size;
		if (rc)
			return rc;
		if (text.size > FEED_ELEMENT_MAX)
			return -EBADMSG;
		int64_t n = feed_more(f, err);
		if (n <= 0)
			return (int)n;
	}
}

/* Where the next element begins as far as one can tell: behind "}, {". f->len: nowhere. */
static size_t next_element(const struct feed *f)
{
	const char *end = f->data + f->len, *p = f->data + f->element;

	while ((p = memchr(p, '}', (size_t)(end - p)))) {
		const char *q = ++p;
		unsigned commas = 0;
		while (q < end && *q && strchr(" \t\r\n,", *q))
			commas += *q++ == ',';
		if (q < end && *q == '{' && commas == 1)
			return (size_t)(q - f->data);
	}
	return f->len;
}

/* Repair or drop the element that yajl or the client refused; go on behind it. */
static int feed_recover_element(struct feed *f, const char *why, struct err *err)
{
	uint64_t offset = f->base + f->element;
	bool is_refused = f->refusal != NULL; /* for what it says, well formed as it is */
	bool skipped;
	size_t size;

	f->client.abandon(f->client.data);
	int rc = feed_repair(f, &size, err);
	if (rc < 0 && rc != -EBADMSG)
		return rc;
	size_t next = rc > 0 ? f->element + size : next_element(f);
	if (rc > 0 && !is_refused) {
		rc = feed_repaired(f, span_of(f->fixed.data, f->fixed.len));
		if (rc < 0)
			return rc;
		is_refused = !rc;
	}
	f->element = SIZE_MAX;
	if (rc > 0 && !is_refused) {
		feed_count_repair(f, offset, why);
	} else {
		bool is_cut = !rc && !is_refused && next == f->len;
		f->damage.is_cut |= is_cut;
		feed_count_drop(f, offset, is_cut ? "the input ends in an event" : why);
	}
	rc = feed_resync(f, next, &skipped, err);
	return rc < 0 ? rc : feed_restart(f);
}

/* yajl stopped at @pos: 0 when reading can go on at f->chunk. */
static int feed_recover(struct feed *f, size_t pos, struct err *err)
{
	char why[96];
	unsigned char *text = yajl_get_error(f->yajl, 0, NULL, 0);

	if (f->stop) {
		if (text)
			yajl_free_error(f->yajl, text);
		return f->stop;
	}
	snprintf(why, sizeof(why), "%s",
		 f->refusal ? f->refusal
		 : text     ? (char *)text
			    : "bad JSON");
	if (text)
		yajl_free_error(f->yajl, text);
	uint64_t offset = f->base + (f->element == SIZE_MAX ? pos : f->element);
	if (f->is_strict)
		return feed_fatal(f, offset, why, err);

	switch (f->place) {
	case FEED_BEFORE:
		return feed_find_array(f, pos, why, err);
	case FEED_AFTER:
		/* Only what stands behind the events is lost: names of devices and the like. */
		feed_count_drop(f, offset, why);
		f->at_end = true;
		f->chunk = f->len;
		return 0;
	case FEED_BARE:
	case FEED_MEMBER:
		break;
	}
	if (f->element != SIZE_MAX)
		return feed_recover_element(f, why, err);

	/* yajl stands behind the token that it refused, which may be the bracket that ends all; unless
	 * it was refused at this very place before. */
	bool skipped;
	f->client.abandon(f->client.data);
	size_t from = pos ? pos - 1 : 0;
	if (f->base + from <= f->resumed)
		from = pos;
	f->resumed = f->base + from;
	int rc = feed_resync(f, from, &skipped, err);
	if (rc < 0)
		return rc;
	/* A comma before the closing bracket loses nothing. */
	if (skipped)
		feed_count_drop(f, offset, why);
	else
		feed_count_repair(f, offset, why);
	return feed_restart(f);
}

static int feed_finish(struct feed *f, struct err *err)
{
	if (f->place == FEED_AFTER)
		return 0;
	if (f->element != SIZE_MAX) {
		f->client.abandon(f->client.data);
		feed_count_drop(f, f->base + f->element, "the input ends in an event");
	}
	f->damage.is_cut = true;
	if (f->is_strict)
		return feed_fatal(f, f->base + f->len, "the input ends before its events do", err);
	return 0;
}

/* The first bytes, without the mark that some editors put before UTF-8. */
static int feed_start(struct feed *f, struct err *err)
{
	static const char mark[] = "\xef\xbb\xbf";
	int64_t n = feed_more(f, err);
	if (n < 0)
		return (int)n;
	if (f->len >= 3 && !memcmp(f->data, mark, 3))
		f->chunk = 3;
	int rc = feed_restart(f);
	return rc < 0 ? err_set(err, rc, "cannot read '%s'", stream_name(f->stream)) : 0;
}

int feed_run(struct feed *f, struct err *err)
{
	int rc = feed_start(f, err);
	if (rc < 0)
		return rc;

	for (;;) {
		if (f->chunk == f->len) {
			feed_compact(f);
			int64_t n = feed_more(f, err);
			if (n < 0)
				return (int)n;
			if (!n)
				break;
		}
		yajl_status status =
			yajl_parse(f->yajl, (unsigned char *)f->data + f->chunk, f->len - f->chunk);
		if (status == yajl_status_ok && token_is_too_long(&f->tokens))
			return feed_fatal(f, f->base + f->len, TOKEN_TOO_LONG, err);
		if (status == yajl_status_ok) {
			f->chunk = f->len;
			continue;
		}
		rc = feed_recover(f, feed_position(f), err);
		if (rc < 0)
			return rc;
	}
	return feed_finish(f, err);
}
