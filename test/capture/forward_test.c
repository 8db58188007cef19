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

/* Two LOST and an END: the fields in order, differences of time, a field left out. */
static void test_bytes_by_hand(void **state)
{
	(void)state;
	const uint8_t payload[] = {
		4,  3, 1,    1,    'x',       /* STRING 1 "x" */
		23, 5, 0xd0, 0x0f, 1,   0, 7, /* LOST at +1000 (zigzag 2000), what 1, why 0, count 7 */
		23, 1, 0x01,                  /* LOST at -1: 999; the rest is 0 */
		24, 7, 2,    0,    0,   0, 0, 0,
		1, /* END at +1: 1000, exit status zigzag(1) = -1 */
	};
	static struct file f;
	struct scratch_capture c;

	add_chunk(&f, CHUNK_STARTS_EPOCH, payload, sizeof(payload));
	open_file(&c, &f);
	assert_int_equal(next(&c, RECORD_STRING).string.id, 1);
	struct record rec = next(&c, RECORD_LOST);
	assert_int_equal(rec.lost.time_ns, 1000);
	assert_int_equal(rec.lost.what, 1);
	assert_int_equal(rec.lost.count, 7);
	rec = next(&c, RECORD_LOST);
	assert_int_equal(rec.lost.time_ns, 999);
	assert_int_equal(rec.lost.what, 0);
	assert_int_equal(rec.lost.count, 0);
	rec = next(&c, RECORD_END);
	assert_int_equal(rec.end.time_ns, 1000);
	assert_int_equal(rec.end.exit_status, -1);
	assert_int_equal(capture_reader_next(c.r, &rec, NULL), 0);
	assert_string_equal(capture_reader_damage(c.r).text, "");
	scratch_close(&c);
}

/* The same times again in a second chunk, since differences start anew; a stack by a parent. */
static void test_stack_bytes_by_hand(void **state)
{
	(void)state;
	const uint8_t payload[] = {
		5, 2, 1, 4,                            /* OBJECT 1 anon */
		5, 2, 2, 4,                            /* OBJECT 2 anon */
		8, 9, 1, 0, 0, 0, 2, 1, 0x20, 2, 0x02, /* STACK 1: root (1, 16), leaf (2, 17) */
		8, 7, 2, 1, 1, 1, 1, 2, 0x01, /* STACK 2: keeps (1, 16), then (2, 15); rooted */
	};
	static struct file f;
	struct scratch_capture c;

	add_chunk(&f, CHUNK_STARTS_EPOCH, payload, sizeof(payload));
	open_file(&c, &f);
	next(&c, RECORD_OBJECT);
	next(&c, RECORD_OBJECT);
	struct record rec = next(&c, RECORD_STACK);
	assert_int_equal(rec.stack.count, 2);
	assert_int_equal(rec.stack.frames[0].object, 2);
	assert_int_equal(rec.stack.frames[0].offset, 17);
	assert_int_equal(rec.stack.frames[1].object, 1);
	assert_int_equal(rec.stack.frames[1].offset, 16);
	rec = next(&c, RECORD_STACK);
	assert_int_equal(rec.stack.flags, STACK_ROOTED);
	assert_int_equal(rec.stack.count, 2);
	assert_int_equal(rec.stack.frames[0].object, 2);
	assert_int_equal(rec.stack.frames[0].offset, 15);
	assert_int_equal(rec.stack.frames[1].offset, 16);
	scratch_close(&c);
}

/* What a newer version may add: types, and fields behind those we know. */
static void test_unknown_types_and_fields(void **state)
{
	(void)state;
	const uint8_t payload[] = {
		200, 3, 1,  2, 3,                /* no such type */
		0,   0,                          /* nor this one */
		2,   5, 0,  0, 0xff, 0xff, 0xff, /* INFO 0 0 and three bytes more */
		24,  9, 10, 0, 0,    0,    0,    0, 0, 0x55, 0x55, /* END and two bytes more */
	};
	static struct file f;
	struct scratch_capture c;
	struct record rec;

	add_chunk(&f, CHUNK_STARTS_EPOCH, payload, sizeof(payload));
	open_file(&c, &f);
	next(&c, RECORD_INFO);
	rec = next(&c, RECORD_END);
	assert_int_equal(rec.end.time_ns, 5);
	assert_int_equal(capture_reader_next(c.r, &rec, NULL), 0);
	struct capture_damage d = capture_reader_damage(c.r);
	assert_int_equal(d.unknown_records, 2);
	assert_int_equal(d.chunks, 0);
	assert_string_equal(d.text, "");
	scratch_close(&c);
}

/* Good checksums around nonsense: counted as damage, and the next chunk is read. */
static void test_malformed_payloads(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		uint8_t payload[16];
		size_t size;
	} cases[] = {
		{ "record longer than the chunk", { 2, 5, 0 }, 3 },
		{ "size cut short", { 2, 0x80 }, 2 },
		{ "number cut short", { 2, 1, 0x80 }, 3 },
		{ "32-bit field too wide", { 2, 5, 0xff, 0xff, 0xff, 0xff, 0x1f }, 7 },
		{ "more than 64 bits",
		  { 11, 12, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02, 0 },
		  14 },
		{ "string longer than its record", { 4, 3, 1, 9, 'x' }, 5 },
		{ "string without a number", { 4, 3, 0, 1, 'x' }, 5 },
		{ "string with the number of [damaged]",
		  { 4, 7, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 'x' },
		  9 },
		{ "string number far away", { 4, 6, 0x80, 0x80, 0x80, 0x40, 1, 'x' }, 8 },
		{ "object without a number", { 5, 2, 0, 1 }, 4 },
		{ "stack without a number", { 8, 5, 0, 0, 0, 0, 0 }, 7 },
		{ "parent below zero", { 8, 5, 1, 0, 2, 0, 1 }, 7 },
		{ "more frames than bytes", { 8, 5, 1, 0, 0, 0, 9 }, 7 },
		{ "too many frames", { 8, 6, 1, 0, 0, 0, 0x81, 0x20 }, 8 },
		{ "too many lines", { 9, 6, 0, 0, 0, 0, 0x81, 0x08 }, 8 },
		{ "f64 cut short", { 21, 9, 0, 0, 0, 0, 0, 0, 0, 1, 2 }, 11 },
		{ "triple cut short", { 16, 9, 0, 0, 0, 0, 0, 0, 0, 0, 1 }, 11 },
	};
	const uint8_t end[] = { 24, 1, 2 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct file f;
		struct scratch_capture c;
		struct record rec;
		f = (struct file){ 0 };
		add_chunk(&f, CHUNK_STARTS_EPOCH, cases[i].payload, cases[i].size);
		size_t first = f.size;
		add_chunk(&f, 0, end, sizeof(end));
		open_file(&c, &f);
		assert_int_equal(capture_reader_next(c.r, &rec, NULL), 1);
		if (rec.type != RECORD_END)
			fail_msg("%s: was taken", cases[i].what);
		assert_int_equal(capture_reader_offset(c.r), first);
		assert_int_equal(capture_reader_next(c.r, &rec, NULL), 0);
		struct capture_damage d = capture_reader_damage(c.r);
		assert_int_equal(d.chunks, 1);
		assert_int_equal(d.first_offset, 0);
		assert_true(d.has_end);
		scratch_close(&c);
	}
}

/* A reference that nothing defines, though nothing is damaged: what stands in comes before it. */
static void test_references_to_nothing(void **state)
{
	(void)state;
	const uint8_t payload[] = {
		2,  1, 9,                        /* INFO key 9 */
		10, 3, 0,  1, 33,                /* CPU_SAMPLE stack 33 */
		9,  8, 77, 5, 0,  0, 1, 8, 0, 0, /* SYMBOL of object 77, one line, name 8 */
		2,  2, 0,  9,                    /* INFO value 9 */
		24, 1, 2,
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

/* A stack of 4096 frames, again and again in six bytes each: it ends, and is called damage. */
static void test_stack_bomb(void **state)
{
	(void)state;
	static uint8_t payload[1 << 20];
	static struct file f;
	struct scratch_capture c;
	struct record rec;
	size_t n = 0;
	uint64_t frames = 0;

	payload[n++] = 8;
	payload[n++] = 0x86; /* 6 + 2 * 4096 = 8198 */
	payload[n++] = 0x40;
	memcpy(payload + n, (uint8_t[]){ 1, 0, 0, 0, 0x80, 0x20 }, 6);
	n += 6 + 8192;
	for (uint32_t id = 2; id < 60000; id++) {
		memcpy(payload + n, (uint8_t[]){ 8, 8, 0x80, 0x80, 0, 0, 1, 0x80, 0x20, 0 }, 10);
		payload[n + 2] |= id & 0x7f;
		payload[n + 3] |= (id >> 7) & 0x7f;
		payload[n + 4] = (uint8_t)(id >> 14);
		n += 10;
	}
	add_chunk(&f, CHUNK_STARTS_EPOCH, payload, n);
	open_file(&c, &f);
	while (capture_reader_next(c.r, &rec, NULL) > 0)
		frames += rec.type == RECORD_STACK ? rec.stack.count : 0;
	assert_in_range(frames, 1 << 20, 100 << 20);
	assert_int_equal(capture_reader_damage(c.r).chunks, 1);
	scratch_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header_bytes),
		cmocka_unit_test(test_bytes_by_hand),
		cmocka_unit_test(test_stack_bytes_by_hand),
		cmocka_unit_test(test_unknown_types_and_fields),
		cmocka_unit_test(test_malformed_payloads),
		cmocka_unit_test(test_references_to_nothing),
		cmocka_unit_test(test_stack_bomb),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
