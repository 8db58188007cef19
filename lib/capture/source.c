/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int source_init(struct source *s, int fd, const char *name, struct err *err)
{
	*s = (struct source){ 0 };
	int rc = stream_init(&s->in, fd, CHUNK_HEADER_BYTES + CHUNK_STORED_MAX);
	s->data = malloc(CHUNK_INFLATED_MAX);
	if (rc < 0 || !s->data || inflateInit(&s->inflate) != Z_OK)
		return err_set(err, -ENOMEM, "cannot read '%s'", name);

	int64_t got = stream_need(&s->in, CHUNK_HEADER_BYTES);
	if (got < 0)
		return err_set(err, (int)got, "cannot read '%s'", name);
	if (got < CHUNK_MAGIC_BYTES ||
	    memcmp(stream_at(&s->in), chunk_magic, CHUNK_MAGIC_BYTES) != 0)
		return err_set(err, -EBADMSG, "'%s': not an accel-prof capture%s", name,
			       got ? "" : ", the file is empty");
	struct chunk_header h;
	if (got >= CHUNK_HEADER_BYTES && chunk_header_unpack(stream_at(&s->in), &h) == 0 &&
	    h.version > CAPTURE_VERSION)
		return err_set(err, -EPROTONOSUPPORT,
			       "'%s': made by a newer accel-prof (format %u, this one reads %u)",
			       name, h.version, CAPTURE_VERSION);
	return 0;
}

void source_release(struct source *s)
{
	stream_release(&s->in);
	inflateEnd(&s->inflate);
	free(s->data);
	s->data = NULL;
}

/* ---- damage ---- */

static void damage_add(struct source *s, uint64_t offset, uint64_t chunks, uint64_t bytes)
{
	if (!s->damage.chunks)
		s->damage.first_offset = offset;
	s->damage.chunks += chunks;
	s->damage.skipped_bytes += bytes;
}

/* This place is no chunk; go on with the next one that looks like it. */
static int skip(struct source *s, bool is_tail)
{
	if (!s->is_skipping) {
		s->is_skipping = true;
		s->skip_is_tail = is_tail;
		s->skip_offset = s->in.offset;
	}
	stream_skip(&s->in, 1);
	return stream_find(&s->in, chunk_magic, CHUNK_MAGIC_BYTES);
}

/* The file is at its end, without an END record. */
static int finish(struct source *s)
{
	s->is_cut = true;
	s->cut_offset = s->in.offset;
	if (s->is_skipping && s->skip_is_tail)
		s->cut_offset = s->skip_offset;
	else if (s->is_skipping)
		damage_add(s, s->skip_offset, 1, s->in.offset - s->skip_offset);
	s->is_skipping = false;
	return 0;
}

/* What is missing before this chunk: by the bytes that were none, and by its number. */
static void count_gap(struct source *s, const struct chunk_header *h)
{
	uint64_t gap = h->sequence > s->next_sequence ? h->sequence - s->next_sequence : 0;

	if (s->is_skipping)
		damage_add(s, s->skip_offset, gap ? gap : 1, s->in.offset - s->skip_offset);
	else if (gap)
		damage_add(s, s->in.offset, gap, 0);
	s->is_skipping = false;
}

/* ---- chunks ---- */

static bool inflate_chunk(struct source *s, const struct chunk_header *h, const uint8_t *stored)
{
	z_stream *z = &s->inflate;

	if (h->version != CAPTURE_VERSION || chunk_crc(stored, h->stored_bytes) != h->crc ||
	    inflateReset(z) != Z_OK)
		return false;
	z->next_in = (Bytef *)stored;
	z->avail_in = h->stored_bytes;
	z->next_out = s->data;
	z->avail_out = h->inflated_bytes;
	return inflate(z, Z_FINISH) == Z_STREAM_END && !z->avail_in && !z->avail_out;
}

/* A whole chunk by its header: 1 when its content is good. */
static int take_chunk(struct source *s, const struct chunk_header *h)
{
	size_t size = CHUNK_HEADER_BYTES + h->stored_bytes;
	bool is_good = false;

	count_gap(s, h);
	s->offset = s->in.offset;
	/* A number that was here before is a copy, and what it refers to may have changed since. */
	if (h->sequence >= s->next_sequence) {
		s->next_sequence = (uint64_t)h->sequence + 1;
		is_good = inflate_chunk(s, h, stream_at(&s->in) + CHUNK_HEADER_BYTES);
	}
	if (is_good) {
		s->size = h->inflated_bytes;
		s->stored_bytes = size;
		s->starts_epoch = h->flags & CHUNK_STARTS_EPOCH;
	} else {
		damage_add(s, s->offset, 1, size);
	}
	stream_skip(&s->in, size);
	return is_good;
}

int source_next(struct source *s)
{
	struct chunk_header h;
	int rc = 0;

	s->size = 0;
	while (!rc) {
		int64_t got = stream_need(&s->in, CHUNK_HEADER_BYTES);
		if (got <= 0)
			return got < 0 ? (int)got : finish(s);
		size_t mark = got < CHUNK_MAGIC_BYTES ? (size_t)got : CHUNK_MAGIC_BYTES;
		bool has_mark = !memcmp(stream_at(&s->in), chunk_magic, mark);
		bool is_short = got < CHUNK_HEADER_BYTES;
		if (!is_short && chunk_header_unpack(stream_at(&s->in), &h) == 0) {
			got = stream_need(&s->in, CHUNK_HEADER_BYTES + h.stored_bytes);
			if (got < 0)
				return (int)got;
			is_short = (uint64_t)got < CHUNK_HEADER_BYTES + (uint64_t)h.stored_bytes;
			if (!is_short) {
				rc = take_chunk(s, &h);
				continue;
			}
		}
		int found = skip(s, is_short && has_mark);
		if (found < 0)
			return found;
	}
	return rc;
}

int source_end(struct source *s)
{
	s->damage.has_end = true;
	s->extra_offset = s->in.offset;
	for (;;) {
		int64_t got = stream_need(&s->in, 1);
		if (got <= 0)
			return (int)got;
		s->extra_bytes += (uint64_t)got;
		stream_skip(&s->in, (size_t)got);
	}
}

/* ---- in words ---- */

/* 1234567 -> "1,234,567" */
static const char *grouped(uint64_t value, char ret[32])
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, value);
	char *p = ret;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = '\0';
	return ret;
}

void source_describe(const struct source *s, const char *name, struct capture_damage *ret)
{
	char a[32], b[32];
	size_t room = sizeof(ret->text);
	int n = 0;

	*ret = s->damage;
	if (s->damage.chunks)
		n += snprintf(ret->text + n, room - (size_t)n,
			      "damaged at offset 0x%" PRIx64 " (%s chunk%s, %s bytes skipped)",
			      s->damage.first_offset, grouped(s->damage.chunks, a),
			      s->damage.chunks == 1 ? "" : "s",
			      grouped(s->damage.skipped_bytes, b));
	if (s->is_cut)
		n += snprintf(ret->text + n, room - (size_t)n,
			      "%scut off at offset 0x%" PRIx64
			      ": no END record; what could be read is shown",
			      n ? "; " : "", s->cut_offset);
	if (s->extra_bytes)
		n += snprintf(ret->text + n, room - (size_t)n,
			      "%sbytes after its END record, at offset 0x%" PRIx64
			      ", are not read (%s)",
			      n ? "; " : "", s->extra_offset, grouped(s->extra_bytes, a));
	if (!n)
		return;
	char rest[sizeof(ret->text)];
	memcpy(rest, ret->text, sizeof(rest));
	snprintf(ret->text, room, "'%.200s': %s", name, rest);
}
