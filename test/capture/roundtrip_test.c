/* SPDX-License-Identifier: Apache-2.0 */
/* What goes in comes out: every record type, extreme values, definitions, epochs. */
#include "unit.h"

#include "base/vec.h"
#include "capture/capture_test.h"
#include "capture/field.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_type),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
