/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capture reader. An input is a file as it lies on disk. Since no mutation survives the
 * checksums, an input that does not start with the magic is taken as the content of chunks, two
 * bytes of size before each, and put into good ones.
 *
 * Invariants: definitions come before use and once, stacks are bounded, and whatever is read can be
 * written and read again as the same records. Merged with itself it becomes a capture that is whole.
 */
#include "base/cleanup.h"
#include "base/vec.h"
#include "capture/chunk.h"
#include "capture/decoder.h"
#include "capture/encoder.h"
#include "capture/field.h"
#include "capture/merge.h"
#include "capture/reader.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef VEC(uint8_t) seen_t; /* by number */

static void add(int fd, const void *data, size_t size)
{
	if (write(fd, data, size) != (ssize_t)size)
		abort();
}

static void add_chunk(int fd, uint32_t sequence, const uint8_t *payload, size_t size)
{
	uLongf stored = compressBound(size);
	uint8_t header[CHUNK_HEADER_BYTES];
	CLEANUP_FREE uint8_t *out = malloc(stored);
	if (!out || compress2(out, &stored, payload, size, 0) != Z_OK)
		abort();
	const struct chunk_header h = { .version = CAPTURE_VERSION,
					.flags = sequence % 3 == 0 ? CHUNK_STARTS_EPOCH : 0,
					.sequence = sequence,
					.inflated_bytes = (uint32_t)size,
					.stored_bytes = (uint32_t)stored,
					.crc = chunk_crc(out, stored) };
	chunk_header_pack(&h, header);
	add(fd, header, sizeof(header));
	add(fd, out, stored);
}

static void make_file(int fd, const uint8_t *data, size_t size)
{
	if (size >= CHUNK_MAGIC_BYTES && !memcmp(data, chunk_magic, CHUNK_MAGIC_BYTES)) {
		add(fd, data, size);
		return;
	}
	for (uint32_t sequence = 0; size >= 2; sequence++) {
		size_t part = data[0] | (size_t)data[1] << 8;
		data += 2;
		size -= 2;
		part = part < size ? part : size;
		add_chunk(fd, sequence, data, part);
		data += part;
		size -= part;
	}
}

static void see(seen_t *seen, uint32_t id)
{
	/* The stand-in for what is damaged is the last one. */
	uint32_t at = id == RECORD_DAMAGED ? 0 : id;
	if (vec_reserve(seen, at + 1) < 0)
		abort();
	while (seen->len <= at)
		seen->data[seen->len++] = 0;
	assert(!seen->data[at]);
	seen->data[at] = 1;
}

static void assert_seen(const seen_t *seen, uint32_t id)
{
	uint32_t at = id == RECORD_DAMAGED ? 0 : id;
	assert(!id || (at < seen->len && seen->data[at]));
}

static void check_references(const struct record *rec, const seen_t *strings, const seen_t *objects)
{
	const struct record_layout *layout = record_layout(rec->type);
	assert(layout);
	for (size_t i = 0; i < layout->count; i++) {
		const struct field *f = &layout->fields[i];
		uint32_t id;
		memcpy(&id, (const uint8_t *)record_body_const(rec) + f->offset, sizeof(id));
		if (f->kind == FIELD_STRING)
			assert_seen(strings, id);
		else if (f->kind == FIELD_OBJECT)
			assert_seen(objects, id);
	}
	assert(rec->type != RECORD_STACK || rec->stack.count <= STACK_FRAMES_MAX);
	for (uint32_t i = 0; rec->type == RECORD_STACK && i < rec->stack.count; i++)
		assert_seen(objects, rec->stack.frames[i].object);
	for (uint32_t i = 0; rec->type == RECORD_SYMBOL && i < rec->symbol.count; i++) {
		assert_seen(strings, rec->symbol.lines[i].name);
		assert_seen(strings, rec->symbol.lines[i].file);
	}
}

/* What was read, written again, decodes to the same records. */
static void check_again(struct encoder *encoder, struct decoder *decoder, z_stream *deflate)
{
	static uint8_t packed[2 << 20], inflated[2 << 20];
	uLongf size = sizeof(inflated);
	struct encoder again = { 0 };
	struct record rec;
	uint32_t expected;

	int64_t n = encoder_deflate(encoder, deflate, packed, sizeof(packed), &expected);
	assert(n > 0);
	assert(uncompress(inflated, &size, packed, (uLong)n) == Z_OK && size == expected);
	if (decoder_start(decoder, span_of(inflated, size)) < 0)
		abort();
	while (decoder_next(decoder, &rec) > 0)
		assert(encoder_add(&again, &rec, &decoder->stack) == 0);
	assert(again.order.len == encoder->order.len && again.bytes == encoder->bytes);
	for (unsigned type = 1; type < RECORD_TYPE_COUNT; type++) {
		const struct encoder_section *a = &encoder->sections[type],
					     *b = &again.sections[type];
		assert(a->records == b->records);
		for (size_t i = 0; a->records && i < record_layout(type)->count; i++)
			assert(!memcmp(a->columns[i].bytes.data, b->columns[i].bytes.data,
				       a->columns[i].bytes.len));
	}
	encoder_release(&again);
}

static void add_to_merge(struct merge *m, int fd)
{
	CLEANUP(capture_reader_free) struct capture_reader *r = NULL;
	struct err err = { .text = "" };
	lseek(fd, 0, SEEK_SET);
	if (capture_reader_open_fd(&r, fd, "fuzz", NULL) < 0)
		abort();
	int rc = merge_add(m, r, &(struct merge_source){ .name = "fuzz", .rank = 1 }, &err);
	assert(rc == 0 || *err.text);
}

static void check_merge(int fd)
{
	CLEANUP(capture_writer_free) struct capture_writer *w = NULL;
	CLEANUP(capture_reader_free) struct capture_reader *r = NULL;
	CLEANUP_CLOSE int out = memfd_create("merged", MFD_CLOEXEC);
	CLEANUP(merge_free) struct merge *m = NULL;
	struct record rec;

	if (out < 0 ||
	    capture_writer_open(&w, &(struct capture_writer_options){ .fd = out }, NULL) < 0 ||
	    merge_new(&m, w, &(struct merge_options){ .drops_host = true }, NULL) < 0)
		abort();
	add_to_merge(m, fd);
	add_to_merge(m, fd);
	if (merge_end(m, NULL) < 0 || lseek(out, 0, SEEK_SET) < 0 ||
	    capture_reader_open_fd(&r, out, "merged", NULL) < 0)
		abort();
	while (capture_reader_next(r, &rec, NULL) > 0)
		;
	assert(!capture_reader_damage(r).text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_CLOSE int fd = memfd_create("capture", MFD_CLOEXEC);
	CLEANUP(capture_reader_free) struct capture_reader *r = NULL;
	CLEANUP_FREE struct decoder *decoder = calloc(1, sizeof(*decoder));
	struct encoder encoder = { 0 };
	z_stream deflate = { 0 };
	seen_t strings = { 0 }, objects = { 0 };
	struct record rec;

	if (fd < 0 || !decoder || deflateInit(&deflate, 1) != Z_OK)
		abort();
	make_file(fd, data, size);
	lseek(fd, 0, SEEK_SET);
	if (capture_reader_open_fd(&r, fd, "fuzz", NULL) < 0) {
		deflateEnd(&deflate);
		return 0;
	}
	int rc;
	while ((rc = capture_reader_next(r, &rec, NULL)) > 0) {
		if (rec.type == RECORD_STRING)
			see(&strings, rec.string.id);
		check_references(&rec, &strings, &objects);
		if (rec.type == RECORD_OBJECT)
			see(&objects, rec.object.id);
		if (rec.type != RECORD_STACK && encoder_size(&encoder) < 512 << 10)
			(void)encoder_add(&encoder, &rec, NULL);
	}
	assert(rc == 0);
	struct capture_damage d = capture_reader_damage(r);
	assert(d.has_end || d.text[0]);
	if (size % 8 == 0) /* megabytes are made for each, which takes its time */
		check_merge(fd);
	if (encoder.order.len)
		check_again(&encoder, decoder, &deflate);
	encoder_release(&encoder);
	deflateEnd(&deflate);
	vec_release(&strings);
	vec_release(&objects);
	return 0;
}
