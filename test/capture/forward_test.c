/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes made by hand, from FORMAT.md and not with the writer: what a newer version would write, and
 * what nobody should.
 */
#include "capture/capture_test.h"

#include "capture/chunk.h"

#include <string.h>
#include <zlib.h>

struct file {
	uint8_t data[1 << 20];
	size_t size;
	uint32_t sequence;
};

static void add_chunk(struct file *f, uint16_t flags, const uint8_t *payload, size_t size)
{
	uint8_t *at = f->data + f->size;
	uLongf stored = sizeof(f->data) - f->size - CHUNK_HEADER_BYTES;

	assert_int_equal(compress(at + CHUNK_HEADER_BYTES, &stored, payload, size), Z_OK);
	struct chunk_header h = { .version = 1,
				  .flags = flags,
				  .sequence = f->sequence++,
				  .inflated_bytes = (uint32_t)size,
				  .stored_bytes = (uint32_t)stored,
				  .crc = (uint32_t)crc32(0, at + CHUNK_HEADER_BYTES,
							 (uInt)stored) };
	chunk_header_pack(&h, at);
	f->size += CHUNK_HEADER_BYTES + stored;
}

static void open_file(struct scratch_capture *c, const struct file *f)
{
	*c = (struct scratch_capture){ .fd = memfd_create("forward", MFD_CLOEXEC) };
	assert_int_equal(write(c->fd, f->data, f->size), f->size);
	scratch_read(c);
}

static struct record next(struct scratch_capture *c, enum record_type type)
{
	struct record rec;
	assert_int_equal(capture_reader_next(c->r, &rec, NULL), 1);
	assert_int_equal(rec.type, type);
	return rec;
}

/* The 32 bytes of FORMAT.md's table, one by one. */
static void test_header_bytes(void **state)
{
	(void)state;
	const struct chunk_header h = { .version = 1,
					.flags = 1,
					.sequence = 0x01020304,
					.inflated_bytes = 0x000a0b0c,
					.stored_bytes = 0x00010203,
					.crc = 0xdeadbeef };
	const uint8_t expected[28] = { 0x89, 0x41, 0x50, 0x46, 0x0d, 0x0a, 0x1a, 0x0a, 1,    0,
				       1,    0,    0x04, 0x03, 0x02, 0x01, 0x0c, 0x0b, 0x0a, 0,
				       0x03, 0x02, 0x01, 0,    0xef, 0xbe, 0xad, 0xde };
	uint8_t bytes[CHUNK_HEADER_BYTES];
	chunk_header_pack(&h, bytes);
	assert_memory_equal(bytes, expected, sizeof(expected));
	uLong crc = crc32(0, expected, sizeof(expected));
	assert_int_equal(bytes[28], crc & 0xff);
	assert_int_equal(bytes[31], crc >> 24);
}

/* A STRING, two LOST and an END: columns in order, differences, columns of zeros left out. */
static void test_bytes_by_hand(void **state)
{
	(void)state;
	const uint8_t payload[] = {
		4,    3,                             /* four records of three types */
		4,    2,    1,    2,                 /* STRING: id, text */
		23,   4,    3,    2,  0, 2,          /* LOST: time, what, why (all 0), count */
		24,   7,    1,    0,  0, 0, 0, 0, 1, /* END: time and exit_status */
		4,    23,   23,   24,                /* their order */
		2,    1,    'x',                     /* STRING 1 "x" */
		0xd0, 0x0f, 0x01,    /* LOST at +1000 (zigzag 2000), then at -1: 999 */
		1,    0,    7,    0, /* what 1 and 0, count 7 and 0 */
		10,   1,             /* END at 5, exit status zigzag(1) = -1 */
	};
	static struct file f;
	struct scratch_capture c;

	add_chunk(&f, CHUNK_STARTS_EPOCH, payload, sizeof(payload));
	open_file(&c, &f);
	struct record rec = next(&c, RECORD_STRING);
	assert_int_equal(rec.string.id, 1);
	assert_int_equal(rec.string.text.size, 1);
	rec = next(&c, RECORD_LOST);
	assert_int_equal(rec.lost.time_ns, 1000);
	assert_int_equal(rec.lost.what, 1);
	assert_int_equal(rec.lost.why, 0);
	assert_int_equal(rec.lost.count, 7);
	rec = next(&c, RECORD_LOST);
	assert_int_equal(rec.lost.time_ns, 999);
	assert_int_equal(rec.lost.what, 0);
	assert_int_equal(rec.lost.count, 0);
	rec = next(&c, RECORD_END);
	assert_int_equal(rec.end.time_ns, 5);
	assert_int_equal(rec.end.exit_status, -1);
	assert_int_equal(capture_reader_next(c.r, &rec, NULL), 0);
	assert_string_equal(capture_reader_damage(c.r).text, "");
	scratch_close(&c);
}

/* The second time of a record is a difference to the first; correlation numbers to the last one
 * that was not 0; and in the next chunk all starts anew. */
static void test_differences_by_hand(void **state)
{
	(void)state;
	const uint8_t payload[] = {
		3,  1,  17, 7,  3,  0, 0, 0, 0, 3, 3, /* DISPATCH: correlation, start, end */
		17, 17, 17, 20, 19, 2,                /* 10; none (-10); 11 */
		8,  2,  4,                            /* start: 4; 5; 7 */
		2,  6,  3,                            /* end: 5; 8; 5 */
	};
	static struct file f;
	struct scratch_capture c;

	add_chunk(&f, CHUNK_STARTS_EPOCH, payload, sizeof(payload));
	add_chunk(&f, 0, payload, sizeof(payload));
	open_file(&c, &f);
	for (int i = 0; i < 2; i++) {
		struct record rec = next(&c, RECORD_DISPATCH);
		assert_int_equal(rec.dispatch.correlation, 10);
		assert_int_equal(rec.dispatch.start_ns, 4);
		assert_int_equal(rec.dispatch.end_ns, 5);
		rec = next(&c, RECORD_DISPATCH);
		assert_int_equal(rec.dispatch.correlation, 0);
		assert_int_equal(rec.dispatch.start_ns, 5);
		assert_int_equal(rec.dispatch.end_ns, 8);
		rec = next(&c, RECORD_DISPATCH);
		assert_int_equal(rec.dispatch.correlation, 11);
		assert_int_equal(rec.dispatch.start_ns, 7);
		assert_int_equal(rec.dispatch.end_ns, 5);
	}
	scratch_close(&c);
}

static void test_stack_bytes_by_hand(void **state)
{
	(void)state;
	const uint8_t payload[] = {
		4, 2, 5, 2, 2,    2,       /* OBJECT: id, kind */
		8, 3, 2, 2, 12,            /* STACK: id, flags, frames */
		5, 5, 8, 8, 2,    2, 4, 4, /* OBJECT 1 and 2, anon */
		2, 2, 0, 1,                /* STACK 1 and 2, flags 0 and rooted */
		0, 0, 2, 1, 0x20, 2, 2,    /* 1: root (1, 16), leaf (2, 17) */
		1, 1, 1, 2, 1,             /* 2: keeps (1, 16), then (2, 15) */
	};
	static struct file f;
	struct scratch_capture c;

	add_chunk(&f, CHUNK_STARTS_EPOCH, payload, sizeof(payload));
	open_file(&c, &f);
	next(&c, RECORD_OBJECT);
	assert_int_equal(next(&c, RECORD_OBJECT).object.id, 2);
	struct record rec = next(&c, RECORD_STACK);
	assert_int_equal(rec.stack.count, 2);
	assert_int_equal(rec.stack.frames[0].object, 2);
	assert_int_equal(rec.stack.frames[0].offset, 17);
	assert_int_equal(rec.stack.frames[1].object, 1);
	assert_int_equal(rec.stack.frames[1].offset, 16);
	rec = next(&c, RECORD_STACK);
	assert_int_equal(rec.stack.id, 2);
	assert_int_equal(rec.stack.flags, STACK_ROOTED);
	assert_int_equal(rec.stack.count, 2);
	assert_int_equal(rec.stack.frames[0].object, 2);
	assert_int_equal(rec.stack.frames[0].offset, 15);
	assert_int_equal(rec.stack.frames[1].offset, 16);
	scratch_close(&c);
}

/* A number so far away says that the start of the epoch was lost: what was known is forgotten, and so is
 * the parent that it names. */
static void test_stack_number_far_away(void **state)
{
	(void)state;
	const uint8_t payload[] = {
		2,    1,    8,    3,    5,   2, 15,    /* STACK: id, flags, frames */
		8,    8,                               /* two of them */
		2,    0x80, 0xfc, 0xa4, 0x2,           /* 1, and 2,400,000 more */
		0,    0,                               /* no flags */
		0,    0,    2,    0,    0,   0, 0,     /* two frames */
		0x80, 0xbe, 0x92, 0x1,  2,   1, 0,  0, /* 2,400,000 back, keeps both, one more */
	};
	static struct file f;
	struct scratch_capture c;
	struct record rec;

	add_chunk(&f, CHUNK_STARTS_EPOCH, payload, sizeof(payload));
	open_file(&c, &f);
	assert_int_equal(next(&c, RECORD_STACK).stack.count, 2);
	assert_int_equal(capture_reader_next(c.r, &rec, NULL), 0);
	scratch_close(&c);
}

/* What a newer version may add: types, and fields behind those we know. */
static void test_unknown_types_and_fields(void **state)
{
	(void)state;
	const uint8_t payload[] = {
		5,    3,   2, 4,  2,   0, 0, 3, /* INFO: key, and two fields more */
		24,   9,   1, 0,  0,   0, 0, 0,    0,    0,    2, /* END: time, and two fields more */
		0xc8, 1,   1, 4,                                  /* no such type, 200 */
		2,    200, 2, 24, 200, 0, 0, 0xff, 0xff, 0xff, 10, 0x55, 0x55, 1, 2, 3, 4,
	};
	static struct file f;
	struct scratch_capture c;
	struct record rec;

	add_chunk(&f, CHUNK_STARTS_EPOCH, payload, sizeof(payload));
	open_file(&c, &f);
	next(&c, RECORD_INFO);
	next(&c, RECORD_INFO);
	rec = next(&c, RECORD_END);
	assert_int_equal(rec.end.time_ns, 5);
	/* The one behind END is not read, and that is damage. */
	assert_int_equal(capture_reader_next(c.r, &rec, NULL), 0);
	struct capture_damage d = capture_reader_damage(c.r);
	assert_int_equal(d.unknown_records, 1);
	assert_int_equal(d.chunks, 1);
	scratch_close(&c);
}

/* Good checksums around nonsense: counted as damage, and the next chunk is read. */
static void test_malformed_payloads(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		uint8_t payload[40];
		size_t size;
	} cases[] = {
		{ "nothing at all", { 0 }, 1 },
		{ "count cut short", { 0x80 }, 1 },
		{ "directory cut short", { 1, 1, 2 }, 3 },
		{ "directory without an end", { 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 2, 0 }, 8 },
		{ "types not ascending", { 1, 2, 3, 0, 2, 0, 2 }, 7 },
		{ "type 0", { 1, 1, 0, 0, 2 }, 5 },
		{ "type beyond a byte", { 1, 1, 0x80, 2, 0, 2 }, 6 },
		{ "order cut short", { 2, 1, 2, 0, 2 }, 5 },
		{ "more columns than bytes", { 1, 1, 2, 1, 2, 2, 0 }, 7 },
		{ "bytes no column has", { 1, 1, 2, 1, 1, 2, 0, 0 }, 8 },
		{ "column of one value for two", { 2, 1, 2, 1, 1, 2, 2, 0 }, 8 },
		{ "number cut short", { 1, 1, 2, 1, 1, 2, 0x80 }, 7 },
		{ "32-bit field too wide", { 1, 1, 2, 1, 5, 2, 0xff, 0xff, 0xff, 0xff, 0x1f }, 11 },
		{ "more than 64 bits",
		  { 1, 1, 11, 1, 10, 11, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2 },
		  16 },
		{ "string longer than its column", { 1, 1, 4, 2, 1, 2, 4, 2, 9, 'x' }, 10 },
		{ "string without a number", { 1, 1, 4, 2, 1, 2, 4, 0, 1, 'x' }, 10 },
		{ "string with the number of [damaged]",
		  { 1, 1, 4, 2, 5, 2, 4, 0xfe, 0xff, 0xff, 0xff, 0x1f, 1, 'x' },
		  14 },
		{ "string number far away",
		  { 1, 1, 4, 2, 4, 2, 4, 0x82, 0x80, 0x80, 0x20, 1, 'x' },
		  13 },
		{ "object without a number", { 1, 1, 5, 2, 0, 1, 5, 1 }, 8 },
		{ "object number far away",
		  { 1, 1, 5, 2, 4, 1, 5, 0x82, 0x80, 0x80, 0x20, 1 },
		  12 },
		{ "stack without a number", { 1, 1, 8, 3, 0, 0, 3, 8, 0, 0, 0 }, 11 },
		{ "parent below zero", { 1, 1, 8, 3, 1, 0, 3, 8, 2, 2, 0, 0 }, 12 },
		{ "more frames than bytes", { 1, 1, 8, 3, 1, 0, 3, 8, 2, 0, 0, 9 }, 12 },
		{ "too many frames", { 1, 1, 8, 3, 1, 0, 4, 8, 2, 0, 0, 0x81, 0x20 }, 13 },
		{ "kept and new too many",
		  { 1, 1, 8, 3, 1, 0, 6, 8, 2, 0, 0x80, 0x20, 1, 0, 0 },
		  15 },
		{ "too many lines", { 1, 1, 9, 5, 0, 0, 0, 0, 2, 9, 0x81, 0x08 }, 12 },
		{ "f64 cut short",
		  { 1, 1, 21, 8, 0, 0, 0, 0, 0, 0, 0, 7, 21, 1, 2, 3, 4, 5, 6, 7 },
		  20 },
		{ "triple cut short", { 1, 1, 16, 9, 0, 0, 0, 0, 0, 0, 0, 0, 2, 16, 1, 2 }, 16 },
	};
	const uint8_t end[] = { 1, 1, 24, 1, 1, 24, 2 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct file f;
		struct scratch_capture c;
		struct record rec;
		f = (struct file){ 0 };
		add_chunk(&f, CHUNK_STARTS_EPOCH, cases[i].payload, cases[i].size);
		size_t first = f.size;
		add_chunk(&f, 0, end, sizeof(end));
		open_file(&c, &f);
		/* A record before the place that is wrong is good. */
		if (strstr(cases[i].what, "for two"))
			next(&c, RECORD_INFO);
		assert_int_equal(capture_reader_next(c.r, &rec, NULL), 1);
		if (rec.type != RECORD_END)
			fail_msg("%s: was taken", cases[i].what);
		assert_int_equal(rec.end.time_ns, 1);
		assert_int_equal(capture_reader_offset(c.r), first);
		assert_int_equal(capture_reader_next(c.r, &rec, NULL), 0);
		struct capture_damage d = capture_reader_damage(c.r);
		if (d.chunks != 1)
			fail_msg("%s: %u chunks damaged", cases[i].what, (unsigned)d.chunks);
		assert_int_equal(d.first_offset, 0);
		assert_int_equal(d.skipped_bytes, first);
		assert_true(d.has_end);
		scratch_close(&c);
	}
}

/* A reference that nothing defines, though nothing is damaged: what stands in comes before it. */
static void test_references_to_nothing(void **state)
{
	(void)state;
	const uint8_t payload[] = {
		5,  4,  2, 2, 2,  2,          /* INFO: key, value */
		9,  5,  1, 1, 0,  0, 4,       /* SYMBOL: object, offset, lines */
		10, 3,  0, 1, 1,              /* CPU_SAMPLE: thread, stack */
		24, 1,  1,                    /* END: time */
		2,  10, 9, 2, 24, 9, 0, 0, 9, /* key 9, then value 9 */
		77, 5,  1, 8, 0,  0,          /* of object 77, one line, name 8 */
		1,  33,                       /* thread 1, stack 33 */
		2,
	};
	static struct file f;
	struct scratch_capture c;

	add_chunk(&f, CHUNK_STARTS_EPOCH, payload, sizeof(payload));
	open_file(&c, &f);
	struct record rec = next(&c, RECORD_STRING);
	assert_int_equal(rec.string.id, RECORD_DAMAGED);
	assert_memory_equal(rec.string.text.data, "[damaged]", 9);
	assert_int_equal(next(&c, RECORD_INFO).info.key, RECORD_DAMAGED);
	rec = next(&c, RECORD_OBJECT);
	assert_int_equal(rec.object.id, RECORD_DAMAGED);
	assert_int_equal(rec.object.kind, OBJECT_MISSING);
	assert_int_equal(rec.object.name, RECORD_DAMAGED);
	rec = next(&c, RECORD_STACK);
	assert_int_equal(rec.stack.id, RECORD_DAMAGED);
	assert_int_equal(rec.stack.count, 1);
	assert_int_equal(rec.stack.frames[0].object, RECORD_DAMAGED);
	rec = next(&c, RECORD_CPU_SAMPLE);
	assert_int_equal(rec.cpu_sample.stack, RECORD_DAMAGED);
	assert_int_equal(rec.cpu_sample.thread, 1);
	rec = next(&c, RECORD_SYMBOL);
	assert_int_equal(rec.symbol.object, RECORD_DAMAGED);
	assert_int_equal(rec.symbol.lines[0].name, RECORD_DAMAGED);
	assert_int_equal(next(&c, RECORD_INFO).info.value, RECORD_DAMAGED);
	next(&c, RECORD_END);
	assert_string_equal(capture_reader_text(c.r, RECORD_DAMAGED), "[damaged]");
	assert_string_equal(capture_reader_text(c.r, 9), "[damaged]");
	assert_string_equal(capture_reader_text(c.r, 0), "");
	scratch_close(&c);
}

static size_t put_uleb(uint8_t *out, size_t at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		out[at++] = (uint8_t)(value | 0x80);
	out[at++] = (uint8_t)value;
	return at;
}

/* A stack of 4096 frames, again and again in six bytes each: it ends, and is called damage. */
static void test_stack_bomb(void **state)
{
	(void)state;
	enum {
		STACKS = 100000
	};
	static uint8_t payload[1 << 20];
	static struct file f;
	struct scratch_capture c;
	struct record rec;
	size_t n = 0;
	uint64_t frames = 0;

	n = put_uleb(payload, n, STACKS);
	n = put_uleb(payload, n, 1);
	n = put_uleb(payload, n, 8);
	n = put_uleb(payload, n, 3);
	n = put_uleb(payload, n, STACKS);
	n = put_uleb(payload, n, 0);
	n = put_uleb(payload, n, 4 + 8192 + (STACKS - 1) * 4);
	memset(payload + n, 8, STACKS);
	memset(payload + n + STACKS, 2, STACKS); /* each one more than before */
	n += 2 * STACKS;
	memcpy(payload + n, (uint8_t[]){ 0, 0, 0x80, 0x20 }, 4);
	n += 4 + 8192;
	for (uint32_t i = 1; i < STACKS; i++, n += 4)
		memcpy(payload + n, (uint8_t[]){ 1, 0x80, 0x20, 0 }, 4);
	add_chunk(&f, CHUNK_STARTS_EPOCH, payload, n);
	open_file(&c, &f);
	while (capture_reader_next(c.r, &rec, NULL) > 0)
		frames += rec.type == RECORD_STACK ? rec.stack.count : 0;
	assert_in_range(frames, 50 << 20, 100 << 20);
	assert_int_equal(capture_reader_damage(c.r).chunks, 1);
	scratch_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header_bytes),
		cmocka_unit_test(test_bytes_by_hand),
		cmocka_unit_test(test_differences_by_hand),
		cmocka_unit_test(test_stack_bytes_by_hand),
		cmocka_unit_test(test_stack_number_far_away),
		cmocka_unit_test(test_unknown_types_and_fields),
		cmocka_unit_test(test_malformed_payloads),
		cmocka_unit_test(test_references_to_nothing),
		cmocka_unit_test(test_stack_bomb),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
