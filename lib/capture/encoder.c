/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/encoder.h"

#include "capture/field.h"
#include "capture/limits.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Doubles are copied as they lie in memory. */
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "captures are little endian");

#define ULEB_MAX ((size_t)10) /* bytes of 64 bits, 7 at a time */

void encoder_release(struct encoder *e)
{
	for (unsigned type = 0; type < RECORD_TYPE_COUNT; type++) {
		struct encoder_section *s = &e->sections[type];
		for (size_t i = 0; s->columns && i < record_layout(type)->count; i++)
			vec_release(&s->columns[i].bytes);
		free(s->columns);
	}
	vec_release(&e->order);
	*e = (struct encoder){ 0 };
}

void encoder_reset(struct encoder *e)
{
	for (unsigned type = 0; type < RECORD_TYPE_COUNT; type++) {
		struct encoder_section *s = &e->sections[type];
		for (size_t i = 0; s->records && i < record_layout(type)->count; i++) {
			s->columns[i].bytes.len = 0;
			s->columns[i].last = 0;
			s->columns[i].has_value = false;
		}
		s->records = 0;
	}
	e->order.len = 0;
	e->bytes = 0;
}

size_t encoder_size(const struct encoder *e)
{
	return e->bytes + e->order.len;
}

/* ---- values ---- */

static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (0 - (difference >> 63));
}

static uint64_t load(const struct field *f, const uint8_t *body)
{
	uint32_t narrow;
	uint64_t wide;
	if (f->size == sizeof(narrow)) {
		memcpy(&narrow, body + f->offset, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, body + f->offset, sizeof(wide));
	return wide;
}

static uint8_t *put_uleb(uint8_t *p, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*p++ = (uint8_t)(value | 0x80);
	*p++ = (uint8_t)value;
	return p;
}

static uint8_t *put_frames(uint8_t *p, uint32_t id, const struct stack_delta *s)
{
	p = put_uleb(p, s->parent ? id - s->parent : 0);
	p = put_uleb(p, s->kept);
	p = put_uleb(p, s->count);
	uint64_t before = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		p = put_uleb(p, s->frames[i].object);
		p = put_uleb(p, zigzag(s->frames[i].offset - before));
		before = s->frames[i].offset;
	}
	return p;
}

static uint8_t *put_lines(uint8_t *p, const struct record_symbol *s)
{
	p = put_uleb(p, s->count);
	for (uint32_t i = 0; i < s->count; i++) {
		p = put_uleb(p, s->lines[i].name);
		p = put_uleb(p, s->lines[i].file);
		p = put_uleb(p, s->lines[i].line);
	}
	return p;
}

/* At most how many bytes a field takes; more than RECORD_MAX_BYTES only says that much. */
static size_t field_bound(const struct field *f, const struct record *rec,
			  const struct stack_delta *stack)
{
	struct record_bytes bytes;

	switch (f->kind) {
	case FIELD_BYTES:
		memcpy(&bytes, (const uint8_t *)record_body_const(rec) + f->offset, sizeof(bytes));
		return bytes.size < RECORD_MAX_BYTES ? ULEB_MAX + bytes.size : RECORD_MAX_BYTES + 1;
	case FIELD_FRAMES:
		return 3 * ULEB_MAX + 2 * ULEB_MAX * stack->count;
	case FIELD_LINES:
		return rec->symbol.count > SYMBOL_LINES_MAX
			       ? RECORD_MAX_BYTES + 1
			       : ULEB_MAX + 3 * ULEB_MAX * rec->symbol.count;
	default:
		return 3 * ULEB_MAX;
	}
}

/*
 * The value as it is written. The first time of a record is a difference to the same field of the
 * record of this type before, the others to the time before in this record: @time_ns.
 */
static uint64_t number(struct encoder_column *c, const struct field *f, uint64_t value,
		       uint64_t *time_ns)
{
	uint64_t before = c->last;

	switch (f->kind) {
	case FIELD_SIGNED:
		return zigzag(value);
	case FIELD_TIME:
		if (*time_ns)
			before = *time_ns;
		c->last = *time_ns = value;
		return zigzag(value - before);
	case FIELD_ID:
	case FIELD_CORRELATION:
		if (value)
			c->last = value;
		return zigzag(value - before);
	default:
		return value;
	}
}

/* The bytes of one field at @p, for which there is room. */
static uint8_t *put_field(uint8_t *p, struct encoder_column *c, const struct field *f,
			  const struct record *rec, const struct stack_delta *stack,
			  uint64_t *time_ns)
{
	const uint8_t *body = record_body_const(rec);
	struct record_bytes bytes;
	uint32_t triple[3];
	uint64_t value;

	switch (f->kind) {
	case FIELD_BYTES:
		memcpy(&bytes, body + f->offset, sizeof(bytes));
		p = put_uleb(p, bytes.size);
		if (bytes.size)
			p = (uint8_t *)memcpy(p, bytes.data, bytes.size) + bytes.size;
		c->has_value |= bytes.size != 0;
		return p;
	case FIELD_FRAMES:
		c->has_value |= stack->parent || stack->count;
		return put_frames(p, rec->stack.id, stack);
	case FIELD_LINES:
		c->has_value |= rec->symbol.count != 0;
		return put_lines(p, &rec->symbol);
	case FIELD_TRIPLE:
		memcpy(triple, body + f->offset, sizeof(triple));
		c->has_value |= triple[0] || triple[1] || triple[2];
		for (int i = 0; i < 3; i++)
			p = put_uleb(p, triple[i]);
		return p;
	case FIELD_F64:
		value = load(f, body);
		c->has_value |= value != 0;
		return (uint8_t *)memcpy(p, &value, sizeof(value)) + sizeof(value);
	default:
		value = load(f, body);
		c->has_value |= value != 0;
		return put_uleb(p, number(c, f, value, time_ns));
	}
}

int encoder_add(struct encoder *e, const struct record *rec, const struct stack_delta *stack)
{
	const struct record_layout *layout = record_layout(rec->type);
	struct encoder_section *s = &e->sections[rec->type];
	size_t bound = 0;
	uint64_t time_ns = 0;

	if (!s->columns)
		s->columns = calloc(layout->count, sizeof(*s->columns));
	if (!s->columns || vec_reserve(&e->order, e->order.len + 1) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < layout->count; i++) {
		size_t more = field_bound(&layout->fields[i], rec, stack);
		bound += more;
		if (bound > RECORD_MAX_BYTES)
			return -E2BIG;
		if (vec_reserve(&s->columns[i].bytes, s->columns[i].bytes.len + more) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < layout->count; i++) {
		struct encoder_column *c = &s->columns[i];
		uint8_t *start = c->bytes.data + c->bytes.len;
		uint8_t *end = put_field(start, c, &layout->fields[i], rec, stack, &time_ns);
		c->bytes.len += (size_t)(end - start);
		e->bytes += (size_t)(end - start);
	}
	s->records++;
	e->order.data[e->order.len++] = (uint8_t)rec->type;
	return 0;
}

/* ---- the chunk ---- */

static size_t column_size(const struct encoder_column *c)
{
	return c->has_value ? c->bytes.len : 0;
}

/* Which sections follow, and how large their columns are. */
static size_t put_directory(const struct encoder *e, uint8_t *start)
{
	uint8_t *p = start;
	unsigned sections = 0;

	for (unsigned type = 0; type < RECORD_TYPE_COUNT; type++)
		sections += e->sections[type].records != 0;
	p = put_uleb(p, e->order.len);
	p = put_uleb(p, sections);
	for (unsigned type = 0; type < RECORD_TYPE_COUNT; type++) {
		const struct encoder_section *s = &e->sections[type];
		if (!s->records)
			continue;
		const struct record_layout *layout = record_layout(type);
		size_t fields = layout->count;
		while (fields && !column_size(&s->columns[fields - 1]))
			fields--;
		p = put_uleb(p, type);
		p = put_uleb(p, fields);
		for (size_t i = 0; i < fields; i++)
			p = put_uleb(p, column_size(&s->columns[i]));
	}
	assert((size_t)(p - start) <= ENCODER_DIRECTORY_MAX);
	return (size_t)(p - start);
}

static int feed(z_stream *z, const uint8_t *data, size_t size, int flush)
{
	z->next_in = (Bytef *)data;
	z->avail_in = (uInt)size;
	int rc = deflate(z, flush);
	return rc == (flush == Z_FINISH ? Z_STREAM_END : Z_OK) && !z->avail_in ? 0 : -EINVAL;
}

int64_t encoder_deflate(struct encoder *e, z_stream *z, uint8_t *out, size_t room,
			uint32_t *ret_inflated)
{
	uint8_t directory[ENCODER_DIRECTORY_MAX];
	size_t size = put_directory(e, directory);

	if (deflateReset(z) != Z_OK)
		return -EINVAL;
	z->next_out = out;
	z->avail_out = (uInt)room;
	if (feed(z, directory, size, Z_NO_FLUSH) < 0 ||
	    feed(z, e->order.data, e->order.len, Z_NO_FLUSH) < 0)
		return -EINVAL;
	for (unsigned type = 0; type < RECORD_TYPE_COUNT; type++) {
		const struct encoder_section *s = &e->sections[type];
		for (size_t i = 0; s->records && i < record_layout(type)->count; i++) {
			const struct encoder_column *c = &s->columns[i];
			if (column_size(c) && feed(z, c->bytes.data, c->bytes.len, Z_NO_FLUSH) < 0)
				return -EINVAL;
		}
	}
	if (feed(z, directory, 0, Z_FINISH) < 0)
		return -EINVAL;
	*ret_inflated = (uint32_t)z->total_in;
	return (int64_t)(room - z->avail_out);
}
