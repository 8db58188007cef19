/* SPDX-License-Identifier: Apache-2.0 */
/* What goes in comes out: every record type, extreme values, definitions, epochs. */
#include "unit.h"

#include "base/vec.h"
#include "capture/capture_test.h"
#include "capture/chunk.h"
#include "capture/field.h"
#include "capture/limits.h"

#include <errno.h>
#include <string.h>

/* Values at which a field's encoding changes its length or its sign. */
static const uint64_t extremes[] = {
	0,      1,          0x7f,       0x80,      0x3fff,     0x4000,
	0xffff, UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX,
};

static void set_number(uint8_t *body, const struct field *f, uint64_t value)
{
	uint32_t narrow = (uint32_t)value;
	if (f->size == sizeof(narrow))
		memcpy(body + f->offset, &narrow, sizeof(narrow));
	else
		memcpy(body + f->offset, &value, sizeof(value));
}

/* Fill a field; references get numbers that the writer gave out. */
static void fill(struct record *rec, const struct field *f, uint64_t value, const uint32_t *ids)
{
	static const struct record_symbol_line lines[3] = { { 1, 2, 3 },
							    { 2, 1, UINT32_MAX },
							    { 0 } };
	uint8_t *body = record_body(rec);

	switch (f->kind) {
	case FIELD_STRING:
		set_number(body, f, ids[0]);
		break;
	case FIELD_OBJECT:
		set_number(body, f, ids[1]);
		break;
	case FIELD_STACK:
		set_number(body, f, ids[2]);
		break;
	case FIELD_TRIPLE:
		for (int i = 0; i < 3; i++) {
			uint32_t part = (uint32_t)(value >> i);
			memcpy(body + f->offset + 4 * i, &part, sizeof(part));
		}
		break;
	case FIELD_BYTES: {
		struct record_bytes bytes = { "bytes\0\xff", value & 7 };
		memcpy(body + f->offset, &bytes, sizeof(bytes));
		break;
	}
	case FIELD_LINES:
		rec->symbol.count = value & 1 ? 3 : 1;
		rec->symbol.lines = lines;
		break;
	default:
		set_number(body, f, value);
	}
}

static void assert_field_equal(const struct record *a, const struct record *b,
			       const struct field *f)
{
	const uint8_t *x = (const uint8_t *)record_body_const(a) + f->offset;
	const uint8_t *y = (const uint8_t *)record_body_const(b) + f->offset;
	struct record_bytes p, q;

	switch (f->kind) {
	case FIELD_BYTES:
		memcpy(&p, x, sizeof(p));
		memcpy(&q, y, sizeof(q));
		assert_int_equal(p.size, q.size);
		assert_memory_equal(p.data, q.data, p.size);
		break;
	case FIELD_LINES:
		assert_int_equal(a->symbol.count, b->symbol.count);
		assert_memory_equal(a->symbol.lines, b->symbol.lines,
				    a->symbol.count * sizeof(*a->symbol.lines));
		break;
	default:
		assert_memory_equal(x, y, f->size);
	}
}

/* Every type with every extreme value in all its fields, and in turn in just one of them. */
static void test_every_type(void **state)
{
	(void)state;
	struct scratch_capture c;
	scratch_open(&c, NULL);
	uint32_t ids[3], other;
	assert_int_equal(capture_writer_string(c.w, "a string", &ids[0]), 0);
	assert_int_equal(capture_writer_string(c.w, "", &other), 0);
	assert_int_equal(other, 0);
	assert_int_equal(capture_writer_string(c.w, "two", &other), 0);
	assert_int_equal(other, 2);
	struct record_object object = { .kind = OBJECT_ELF, .name = ids[0], .path = other };
	assert_int_equal(capture_writer_object(c.w, &object, &ids[1]), 0);

	VEC(struct record) sent = { 0 };
	struct record_frame frame = { ids[1], 0x1000 };
	assert_int_equal(capture_writer_stack(c.w, &frame, 1, STACK_ROOTED, &ids[2]), 0);
	for (unsigned type = RECORD_HEADER; type < RECORD_END; type++) {
		if (type == RECORD_STRING || type == RECORD_OBJECT || type == RECORD_STACK)
			continue;
		const struct record_layout *layout = record_layout(type);
		for (size_t v = 0; v < ARRAY_SIZE(extremes); v++) {
			for (size_t only = 0; only <= layout->count; only++) {
				struct record rec = { .type = type };
				for (size_t i = 0; i < layout->count; i++) {
					if (only == layout->count || only == i)
						fill(&rec, &layout->fields[i], extremes[v], ids);
				}
				assert_int_equal(capture_writer_put(c.w, &rec), 0);
				assert_int_equal(vec_push(&sent, rec), 0);
			}
		}
	}
	struct record end = { .type = RECORD_END, .end = { .time_ns = 5, .exit_status = -1 } };
	assert_int_equal(capture_writer_put(c.w, &end), 0);
	assert_int_equal(vec_push(&sent, end), 0);
	assert_int_equal(capture_writer_put(c.w, &end), -EINVAL);

	scratch_read(&c);
	struct record rec;
	size_t got = 0;
	while (capture_reader_next(c.r, &rec, NULL) > 0) {
		if (rec.type == RECORD_STRING || rec.type == RECORD_OBJECT ||
		    rec.type == RECORD_STACK)
			continue;
		assert_true(got < sent.len);
		assert_int_equal(rec.type, sent.data[got].type);
		const struct record_layout *layout = record_layout(rec.type);
		for (size_t i = 0; i < layout->count; i++)
			assert_field_equal(&sent.data[got], &rec, &layout->fields[i]);
		got++;
	}
	assert_int_equal(got, sent.len);
	assert_string_equal(capture_reader_damage(c.r).text, "");
	assert_true(capture_reader_damage(c.r).has_end);
	assert_string_equal(capture_reader_text(c.r, ids[0]), "a string");
	vec_release(&sent);
	scratch_close(&c);
}

/* ---- interning ---- */

static void test_numbers_are_equal_for_equal_input(void **state)
{
	(void)state;
	struct scratch_capture c;
	uint32_t a, b;
	struct record_object o = { .kind = OBJECT_PYTHON, .line = 1 };
	struct record_frame frames[2] = { { 1, 10 }, { 1, 20 } };

	scratch_open(&c, NULL);
	assert_int_equal(capture_writer_bytes(c.w, "a\0b", 3, &a), 0);
	assert_int_equal(capture_writer_bytes(c.w, "a\0b", 3, &b), 0);
	assert_int_equal(a, b);
	assert_int_equal(capture_writer_bytes(c.w, "a\0c", 3, &b), 0);
	assert_int_not_equal(a, b);

	assert_int_equal(capture_writer_object(c.w, &o, &a), 0);
	o.id = 99; /* says nothing */
	assert_int_equal(capture_writer_object(c.w, &o, &b), 0);
	assert_int_equal(a, b);
	o.build_id = (struct record_bytes){ "\1", 1 };
	assert_int_equal(capture_writer_object(c.w, &o, &b), 0);
	assert_int_not_equal(a, b);

	assert_int_equal(capture_writer_stack(c.w, frames, 2, 0, &a), 0);
	assert_int_equal(capture_writer_stack(c.w, frames, 2, 0, &b), 0);
	assert_int_equal(a, b);
	assert_int_equal(capture_writer_stack(c.w, frames, 2, STACK_ROOTED, &b), 0);
	assert_int_not_equal(a, b);
	assert_int_equal(capture_writer_stack(c.w, frames, 1, 0, &b), 0);
	assert_int_not_equal(a, b);
	scratch_close(&c);
}

static void test_what_was_not_given_out_is_refused(void **state)
{
	(void)state;
	struct scratch_capture c;
	uint32_t id;
	struct record_frame frame = { 7, 0 };

	scratch_open(&c, NULL);
	assert_int_equal(capture_writer_stack(c.w, &frame, 1, 0, &id), -EINVAL);
	struct record rec = { .type = RECORD_INFO, .info = { .key = 1 } };
	assert_int_equal(capture_writer_put(c.w, &rec), -EINVAL);
	rec = (struct record){ .type = RECORD_SYNC, .sync = { .stack = 1 } };
	assert_int_equal(capture_writer_put(c.w, &rec), -EINVAL);
	rec = (struct record){ .type = RECORD_STRING };
	assert_int_equal(capture_writer_put(c.w, &rec), -EINVAL);
	rec = (struct record){ .type = RECORD_TYPE_COUNT };
	assert_int_equal(capture_writer_put(c.w, &rec), -EINVAL);

	/* Too large for any chunk; and afterwards all is as before. */
	CLEANUP_FREE char *large = calloc(1, 600 << 10);
	rec = (struct record){ .type = RECORD_CODE_OBJECT };
	rec.code_object.part = (struct record_bytes){ large, 600 << 10 };
	assert_int_equal(capture_writer_put(c.w, &rec), -E2BIG);
	assert_string_equal(capture_writer_error(c.w), "");
	rec = (struct record){ .type = RECORD_LOST, .lost = { .time_ns = 3, .count = 5 } };
	assert_int_equal(capture_writer_put(c.w, &rec), 0);
	scratch_read(&c);
	assert_int_equal(capture_reader_next(c.r, &rec, NULL), 1);
	assert_int_equal(rec.type, RECORD_LOST);
	assert_int_equal(rec.lost.time_ns, 3);
	assert_int_equal(rec.lost.count, 5);
	assert_int_equal(capture_reader_next(c.r, &rec, NULL), 0);
	scratch_close(&c);
}

/* ---- stacks ---- */

static void next_of_type(struct scratch_capture *c, enum record_type type, struct record *ret)
{
	do
		assert_int_equal(capture_reader_next(c->r, ret, NULL), 1);
	while (ret->type != type);
}

/* Stacks that grow, shrink, share roots and do not; told back frame by frame. */
static void test_stacks(void **state)
{
	(void)state;
	enum {
		STACKS = 200
	};
	struct scratch_capture c;
	struct record_object o = { .kind = OBJECT_ANON };
	struct record_frame frames[STACKS];
	uint32_t object, id;
	struct record rec;

	scratch_open(&c, NULL);
	assert_int_equal(capture_writer_object(c.w, &o, &object), 0);
	for (uint32_t n = 0; n < STACKS; n++) {
		for (uint32_t i = 0; i < n; i++)
			frames[n - 1 - i] = (struct record_frame){
				object, i < n / 2 ? i : UINT64_MAX - (uint64_t)n * i
			};
		assert_int_equal(capture_writer_stack(c.w, frames, n, n, &id), 0);
		assert_int_equal(id, n + 1);
	}
	scratch_read(&c);
	for (uint32_t n = 0; n < STACKS; n++) {
		next_of_type(&c, RECORD_STACK, &rec);
		assert_int_equal(rec.stack.id, n + 1);
		assert_int_equal(rec.stack.flags, n);
		assert_int_equal(rec.stack.count, n);
		for (uint32_t i = 0; i < n; i++) {
			const struct record_frame *f = &rec.stack.frames[n - 1 - i];
			assert_int_equal(f->object, object);
			assert_true(f->offset == (i < n / 2 ? i : UINT64_MAX - (uint64_t)n * i));
		}
	}
	scratch_close(&c);
}

/* What a stack shares with another need not be given again; who says so is taken at his word. */
static void test_stacks_like_others(void **state)
{
	(void)state;
	struct scratch_capture c;
	struct record_object o = { .kind = OBJECT_ANON };
	uint32_t object, base, id, other, known;
	struct record rec;

	/* Small epochs: the stack is taken over from one to the next. */
	scratch_open(&c, &(struct capture_writer_options){ .epoch_bytes = 256 });
	assert_int_equal(capture_writer_object(c.w, &o, &object), 0);
	const struct record_frame frames[] = {
		{ object, 9 }, { object, 500 }, { object, 7 }, { object, 1 }
	};
	const struct record_frame leaf = { object, 33 };
	assert_int_equal(capture_writer_stack(c.w, frames, 4, 0, &base), 0);
	/* All of it, but for other flags. */
	struct record_stack all = { .parent = base, .kept = 4, .count = 4, .flags = STACK_ROOTED };
	assert_int_equal(capture_writer_stack_like(c.w, &all, &id, &known), 0);
	assert_int_equal(id, base + 1);
	assert_int_equal(known, 4);
	/* The frames at the root, one other one. */
	struct record_stack part = { .parent = base, .kept = 2, .frames = &leaf, .count = 3 };
	assert_int_equal(capture_writer_stack_like(c.w, &part, &other, &known), 0);
	assert_int_equal(other, base + 2);
	assert_int_equal(known, 2);
	/* What was given so is not found by what is given in full; what was interned still is. */
	assert_int_equal(capture_writer_stack(c.w,
					      (struct record_frame[]){ leaf, frames[2], frames[3] },
					      3, 0, &id),
			 0);
	assert_int_equal(id, base + 3);
	assert_int_equal(capture_writer_stack(c.w, frames, 4, 0, &id), 0);
	assert_int_equal(id, base);
	/* What is given anew is written once: three frames of the first stack, one of the second. */
	const struct record_frame mixed[] = {
		{ object, 8 }, { object, 500 }, frames[2], frames[3]
	};
	struct record_stack whole = { .frames = mixed, .count = 4 };
	assert_int_equal(capture_writer_stack_like(c.w, &whole, &id, &known), 0);
	assert_int_equal(id, base + 4);
	assert_int_equal(known, 3);
	const struct record_frame below[] = { { object, 7 }, leaf };
	struct record_stack longer = { .parent = base, .kept = 2, .frames = below, .count = 4 };
	assert_int_equal(capture_writer_stack_like(c.w, &longer, &id, &known), 0);
	assert_int_equal(id, base + 5);
	assert_int_equal(known, 3);

	static const struct record_frame many[STACK_FRAMES_MAX];
	const struct record_stack bad[] = {
		{ .parent = base, .kept = 5, .count = 5 },
		{ .parent = base, .kept = 2, .count = 1 },
		{ .parent = 99, .kept = 1, .count = 1 },
		{ .kept = 1, .count = 1 },
		{ .parent = base, .kept = 4, .frames = many, .count = STACK_FRAMES_MAX + 1 },
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(capture_writer_stack_like(c.w, &bad[i], &id, &known), -EINVAL);

	uint32_t epoch = capture_writer_epoch(c.w);
	while (capture_writer_epoch(c.w) == epoch) {
		rec = (struct record){ .type = RECORD_SYNC, .sync = { .time_ns = 1ull << 40 } };
		assert_int_equal(capture_writer_put(c.w, &rec), 0);
	}
	part.kept = 3;
	part.count = 4;
	assert_int_equal(capture_writer_stack_like(c.w, &part, &id, &known), 0);
	scratch_read(&c);
	do
		next_of_type(&c, RECORD_STACK, &rec);
	while (rec.stack.id != other);
	assert_int_equal(rec.stack.count, 3);
	assert_int_equal(rec.stack.kept, 2);
	assert_int_equal(rec.stack.parent, base);
	assert_int_equal(rec.stack.frames[0].offset, 33);
	assert_int_equal(rec.stack.frames[2].offset, 1);
	do
		next_of_type(&c, RECORD_STACK, &rec);
	while (rec.stack.id != id);
	assert_int_equal(rec.stack.count, 4);
	const uint64_t offsets[] = { 33, 500, 7, 1 };
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(rec.stack.frames[i].offset, offsets[i]);
	scratch_close(&c);
}

/* Who keeps stacks as they come gets of each only what its parent does not have. */
static void test_stacks_without_what_is_kept(void **state)
{
	(void)state;
	struct scratch_capture c;
	struct record_object o = { .kind = OBJECT_ANON };
	uint32_t object, id;
	struct record rec;

	scratch_open(&c, NULL);
	assert_int_equal(capture_writer_object(c.w, &o, &object), 0);
	const struct record_frame long_one[] = { { object, 30 }, { object, 20 }, { object, 10 } };
	const struct record_frame other[] = { { object, 31 }, { object, 21 }, { object, 10 } };
	assert_int_equal(capture_writer_stack(c.w, long_one, 3, 0, &id), 0);
	assert_int_equal(capture_writer_stack(c.w, other, 3, 0, &id), 0);
	assert_int_equal(capture_writer_stack(c.w, long_one + 1, 2, 0, &id), 0);
	scratch_read(&c);
	capture_reader_leave_kept(c.r);
	next_of_type(&c, RECORD_STACK, &rec);
	assert_int_equal(rec.stack.count, 3);
	assert_int_equal(rec.stack.kept, 0);
	assert_int_equal(rec.stack.frames[2].offset, 10);
	assert_int_equal(rec.stack.above, 0);
	assert_int_equal(rec.stack.first, 1);
	next_of_type(&c, RECORD_STACK, &rec);
	assert_int_equal(rec.stack.count, 3);
	assert_int_equal(rec.stack.kept, 1);
	assert_int_equal(rec.stack.above, 1);
	assert_int_equal(rec.stack.first, 4);
	assert_int_equal(rec.stack.frames[0].offset, 31);
	assert_int_equal(rec.stack.frames[1].offset, 21);
	next_of_type(&c, RECORD_STACK, &rec);
	assert_int_equal(rec.stack.count, 2);
	assert_int_equal(rec.stack.kept, 2);
	assert_int_equal(rec.stack.above, 2);
	assert_int_equal(rec.stack.first, 0);
	scratch_close(&c);
}

static int on_end(void *data, struct err *err)
{
	return *(bool *)data ? err_set(err, -EPIPE, "not all came") : 0;
}

/* Who knows that more should have come says so when nothing more comes. */
static void test_the_end_is_asked_about(void **state)
{
	(void)state;
	for (int fails = 0; fails < 2; fails++) {
		struct scratch_capture c;
		bool is_short = fails;
		struct record rec = { .type = RECORD_SYNC };
		struct err err;

		scratch_open(&c, NULL);
		assert_int_equal(capture_writer_put(c.w, &rec), 0);
		scratch_read(&c);
		capture_reader_on_end(c.r, on_end, &is_short);
		assert_int_equal(capture_reader_next(c.r, &rec, &err), 1);
		assert_int_equal(capture_reader_next(c.r, &rec, &err), fails ? -EPIPE : 0);
		if (fails)
			assert_string_equal(err.text, "not all came: Broken pipe");
		scratch_close(&c);
	}
}

static void test_endless_recursion_is_cut_at_the_root(void **state)
{
	(void)state;
	enum {
		DEEP = 5000,
		KEPT = 4096
	};
	struct scratch_capture c;
	struct record_object o = { .kind = OBJECT_ANON };
	struct record_frame *frames = calloc(DEEP, sizeof(*frames));
	uint32_t id;
	struct record rec;

	scratch_open(&c, NULL);
	assert_int_equal(capture_writer_object(c.w, &o, &id), 0);
	for (uint32_t i = 0; i < DEEP; i++)
		frames[i] = (struct record_frame){ id, i };
	assert_int_equal(capture_writer_stack(c.w, frames, DEEP, STACK_ROOTED | STACK_BY_COPY, &id),
			 0);
	scratch_read(&c);
	next_of_type(&c, RECORD_STACK, &rec);
	assert_int_equal(rec.stack.count, KEPT);
	assert_int_equal(rec.stack.frames[0].offset, 0);
	assert_int_equal(rec.stack.frames[KEPT - 1].offset, KEPT - 1);
	assert_int_equal(rec.stack.flags,
			 STACK_BY_COPY | STACK_CAUSE_TOO_DEEP << STACK_CAUSE_SHIFT);
	free(frames);
	scratch_close(&c);
}

/* ---- epochs ---- */

/* Small epochs: every string and object is given out once, every stack's number is good, and one
 * that was had in the epoch before still is. */
static void test_epochs(void **state)
{
	(void)state;
	enum {
		SAMPLES = 3000
	};
	const struct capture_writer_options opt = { .chunk_bytes = 200, .epoch_bytes = 2000 };
	struct scratch_capture c;
	struct record rec;
	uint32_t object, name, stack, late = 0;

	scratch_open(&c, &opt);
	for (uint32_t i = 0; i < SAMPLES; i++) {
		char text[32];
		snprintf(text, sizeof(text), "function %u", i % 7);
		assert_int_equal(capture_writer_string(c.w, text, &name), 0);
		struct record_object o = { .kind = OBJECT_CXX, .name = name };
		assert_int_equal(capture_writer_object(c.w, &o, &object), 0);
		struct record_frame frames[2] = { { object, i % 11 }, { 1, 5 } };
		assert_int_equal(capture_writer_stack(c.w, frames, 2, i % 11, &stack), 0);
		rec = (struct record){ .type = RECORD_CPU_SAMPLE };
		/* Every other one uses the number had one sample before. */
		rec.cpu_sample.stack = i % 2 ? late : stack;
		rec.cpu_sample.cpu = i % 2 ? i - 1 : i;
		assert_int_equal(capture_writer_put(c.w, &rec), 0);
		late = stack;
	}
	scratch_read(&c);

	VEC(uint64_t) offsets = { 0 }; /* by stack */
	uint32_t samples = 0, strings = 0, objects = 0, stacks = 0;
	while (capture_reader_next(c.r, &rec, NULL) > 0) {
		strings += rec.type == RECORD_STRING;
		objects += rec.type == RECORD_OBJECT;
		if (rec.type == RECORD_STACK) {
			stacks++;
			assert_int_equal(rec.stack.count, 2);
			while (offsets.len <= rec.stack.id)
				assert_int_equal(vec_push(&offsets, UINT64_MAX), 0);
			/* Never used again for another. */
			assert_true(offsets.data[rec.stack.id] == UINT64_MAX);
			offsets.data[rec.stack.id] = rec.stack.frames[0].offset;
		} else if (rec.type == RECORD_CPU_SAMPLE) {
			assert_true(rec.cpu_sample.stack < offsets.len);
			assert_int_equal(offsets.data[rec.cpu_sample.stack],
					 rec.cpu_sample.cpu % 11);
			samples++;
		}
	}
	assert_int_equal(samples, SAMPLES);
	assert_int_equal(strings, 7);
	assert_int_equal(objects, 7);
	assert_true(stacks > 77 * 3); /* several epochs' worth */
	assert_int_equal(capture_reader_damage(c.r).chunks, 0);
	vec_release(&offsets);
	scratch_close(&c);
}

/* Chunks that start an epoch, by their headers. */
static unsigned count_epochs(int fd)
{
	uint8_t header[CHUNK_HEADER_BYTES];
	struct chunk_header h;
	unsigned epochs = 0;
	off_t at = 0;

	for (; pread(fd, header, sizeof(header), at) == sizeof(header);
	     at += CHUNK_HEADER_BYTES + h.stored_bytes) {
		assert_int_equal(chunk_header_unpack(header, &h), 0);
		epochs += h.flags & CHUNK_STARTS_EPOCH;
	}
	return epochs;
}

/* The sizes that FORMAT.md tells: 64 MiB of anything, or so many frames. */
static void assert_epochs(uint32_t epoch_frames, size_t code_bytes, unsigned epochs)
{
	enum {
		STACKS = 600000
	};
	struct scratch_capture c;
	struct record_code_object code = { .id = 1, .kind = CODE_OBJECT_SOURCE };
	struct record_object o = { .kind = OBJECT_ANON };
	CLEANUP_FREE uint8_t *zeros = calloc(1, code_bytes + 1);
	struct record rec;
	uint32_t object, id, stacks = 0;
	uint64_t got = 0;

	scratch_open(&c, &(struct capture_writer_options){ .epoch_frames = epoch_frames });
	assert_int_equal(capture_writer_code_object(c.w, &code, zeros, code_bytes), 0);
	assert_int_equal(capture_writer_object(c.w, &o, &object), 0);
	for (uint64_t i = 0; i < STACKS; i++) {
		struct record_frame frame = { object, i * 16 };
		assert_int_equal(capture_writer_stack(c.w, &frame, 1, 0, &id), 0);
		assert_int_equal(id, i + 1);
	}
	rec = (struct record){ .type = RECORD_END };
	assert_int_equal(capture_writer_put(c.w, &rec), 0);
	scratch_read(&c);
	assert_int_equal(count_epochs(c.fd), epochs);
	while (capture_reader_next(c.r, &rec, NULL) > 0) {
		if (rec.type == RECORD_CODE_OBJECT)
			got += rec.code_object.part.size;
		if (rec.type == RECORD_STACK) {
			assert_int_equal(rec.stack.id, stacks + 1);
			assert_int_equal(rec.stack.frames[0].offset, stacks * 16);
			stacks++;
		}
	}
	assert_int_equal(got, code_bytes);
	assert_int_equal(stacks, STACKS);
	assert_string_equal(capture_reader_damage(c.r).text, "");
	scratch_close(&c);
}

static void test_real_epochs(void **state)
{
	(void)state;
	assert_epochs(0, 65 << 20, 3); /* a recorder's: 524,288 */
	assert_epochs(CAPTURE_EPOCH_FRAMES_MAX, 0, 1);
}

/* ---- long things ---- */

static void test_long_string_is_cut(void **state)
{
	(void)state;
	struct scratch_capture c;
	struct record rec = { .type = RECORD_INFO };
	size_t size = CAPTURE_STRING_MAX + 1;
	char *text = malloc(size + 1);

	memset(text, 'x', size);
	text[size] = '\0';
	scratch_open(&c, NULL);
	assert_int_equal(capture_writer_string(c.w, text, &rec.info.key), 0);
	assert_int_equal(capture_writer_string(c.w, text + 1, &rec.info.value), 0);
	assert_int_equal(capture_writer_put(c.w, &rec), 0);
	scratch_read(&c);
	next_of_type(&c, RECORD_INFO, &rec);
	const char *key = capture_reader_text(c.r, rec.info.key);
	assert_int_equal(strlen(key), CAPTURE_STRING_MAX);
	assert_string_equal(key + CAPTURE_STRING_MAX - 6, "x[cut]");
	assert_string_equal(capture_reader_text(c.r, rec.info.value), text + 1);
	free(text);
	scratch_close(&c);
}

/* Whoever makes names without end costs a bounded amount; what is known keeps its name. */
static void test_names_without_end(void **state)
{
	(void)state;
	const struct capture_writer_options opt = { .string_bytes_max = 10000 };
	struct scratch_capture c;
	struct record rec = { .type = RECORD_INFO };
	uint32_t first, rest = 0;
	char text[32];

	scratch_open(&c, &opt);
	assert_int_equal(capture_writer_string(c.w, "first", &first), 0);
	for (int i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		assert_int_equal(capture_writer_string(c.w, text, &rest), 0);
	}
	/* 40 bytes each, and more. */
	assert_in_range(rest, 100, 250);
	assert_int_equal(capture_writer_string(c.w, "another", &rec.info.value), 0);
	assert_int_equal(rec.info.value, rest);
	assert_int_equal(capture_writer_string(c.w, "first", &rec.info.key), 0);
	assert_int_equal(rec.info.key, first);
	assert_int_equal(capture_writer_put(c.w, &rec), 0);
	scratch_read(&c);
	next_of_type(&c, RECORD_INFO, &rec);
	assert_string_equal(capture_reader_text(c.r, rec.info.key), "first");
	assert_string_equal(capture_reader_text(c.r, rec.info.value), CAPTURE_STRING_REST);
	scratch_close(&c);
}

static void test_code_object_in_parts(void **state)
{
	(void)state;
	struct scratch_capture c;
	size_t size = 2 * RECORD_PART_BYTES + 10, got = 0;
	uint8_t *code = malloc(size);
	uint32_t seed = 1, parts = 0;
	struct record rec;
	struct record_code_object o = { .id = 3, .kind = CODE_OBJECT_CUBIN };

	for (size_t i = 0; i < size; i++) { /* does not compress */
		seed = seed * 1664525 + 1013904223;
		code[i] = (uint8_t)(seed >> 24);
	}
	scratch_open(&c, NULL);
	assert_int_equal(capture_writer_code_object(c.w, &o, code, size), 0);
	o.id = 4;
	assert_int_equal(capture_writer_code_object(c.w, &o, NULL, 0), 0);
	scratch_read(&c);
	while (capture_reader_next(c.r, &rec, NULL) > 0) {
		assert_int_equal(rec.type, RECORD_CODE_OBJECT);
		parts++;
		if (rec.code_object.id == 4) {
			assert_int_equal(rec.code_object.total_bytes, 0);
			continue;
		}
		assert_int_equal(rec.code_object.total_bytes, size);
		assert_int_equal(rec.code_object.part_offset, got);
		assert_memory_equal(rec.code_object.part.data, code + got,
				    rec.code_object.part.size);
		got += rec.code_object.part.size;
	}
	assert_int_equal(got, size);
	assert_int_equal(parts, 4);
	free(code);
	scratch_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_type),
		cmocka_unit_test(test_numbers_are_equal_for_equal_input),
		cmocka_unit_test(test_what_was_not_given_out_is_refused),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_stacks_like_others),
		cmocka_unit_test(test_stacks_without_what_is_kept),
		cmocka_unit_test(test_the_end_is_asked_about),
		cmocka_unit_test(test_endless_recursion_is_cut_at_the_root),
		cmocka_unit_test(test_epochs),
		cmocka_unit_test(test_real_epochs),
		cmocka_unit_test(test_long_string_is_cut),
		cmocka_unit_test(test_names_without_end),
		cmocka_unit_test(test_code_object_in_parts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
