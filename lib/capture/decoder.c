/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/decoder.h"

#include "capture/field.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static uint64_t unzigzag(uint64_t value)
{
	return value >> 1 ^ (0 - (value & 1));
}

/* False when the number is cut short or has more than 64 bits. */
static inline bool get_uleb(struct decoder_column *c, uint64_t *ret)
{
	const uint8_t *p = c->p;
	if (p < c->end && *p < 0x80) {
		*ret = *p;
		c->p = p + 1;
		return true;
	}
	uint64_t value = 0;
	for (unsigned shift = 0; p < c->end && shift < 64; shift += 7) {
		uint64_t byte = *p++;
		if (shift == 63 && byte > 1)
			return false;
		value |= (byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = value;
			c->p = p;
			return true;
		}
	}
	return false;
}

static inline bool get_u32(struct decoder_column *c, uint32_t *ret)
{
	uint64_t value;
	if (!get_uleb(c, &value) || value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

/* ---- the directory ---- */

/* One section's sizes: hand its part of @data, from @at on, out to the columns. */
static int start_section(struct decoder *d, struct cursor *directory, uint64_t *last_type,
			 struct span data, size_t *at)
{
	uint64_t type, fields;

	if (cursor_uleb(directory, &type, NULL) < 0 || cursor_uleb(directory, &fields, NULL) < 0 ||
	    type <= *last_type || type > UINT8_MAX)
		return -EBADMSG;
	*last_type = type;
	const struct record_layout *layout = record_layout((unsigned)type);
	for (uint64_t i = 0; i < fields; i++) {
		uint64_t size;
		struct span part;
		if (cursor_uleb(directory, &size, NULL) < 0 ||
		    span_slice(data, *at, size, &part) < 0)
			return -EBADMSG;
		*at += size;
		if (layout && i < layout->count && size)
			d->columns[type][i] =
				(struct decoder_column){ .p = part.data,
							 .end = part.data + part.size };
	}
	return 0;
}

/* Where the directory ends is known only once it has been read: once to find that out, once to use
 * it. */
static int skip_directory(struct cursor *c, uint64_t sections)
{
	for (uint64_t s = 0; s < sections; s++) {
		uint64_t fields, ignored;
		if (cursor_uleb(c, &ignored, NULL) < 0 || cursor_uleb(c, &fields, NULL) < 0)
			return -EBADMSG;
		for (uint64_t i = 0; i < fields; i++) {
			if (cursor_uleb(c, &ignored, NULL) < 0)
				return -EBADMSG;
		}
	}
	return 0;
}

void decoder_stop(struct decoder *d)
{
	d->order = d->order_end = NULL;
}

int decoder_start(struct decoder *d, struct span payload)
{
	struct cursor c = cursor_of(payload, NULL);
	uint64_t records, sections, last_type = 0;
	struct span order, data;
	size_t at = 0;

	memset(d->columns, 0, sizeof(d->columns));
	decoder_stop(d);
	if (cursor_uleb(&c, &records, NULL) < 0 || cursor_uleb(&c, &sections, NULL) < 0)
		return -EBADMSG;
	struct cursor directory = c;
	if (skip_directory(&c, sections) < 0 || cursor_bytes(&c, records, &order, NULL) < 0 ||
	    cursor_bytes(&c, cursor_left(&c), &data, NULL) < 0)
		return -EBADMSG;
	for (uint64_t s = 0; s < sections; s++) {
		if (start_section(d, &directory, &last_type, data, &at) < 0)
			return -EBADMSG;
	}
	if (at != data.size)
		return -EBADMSG;
	d->order = order.data;
	d->order_end = order.data + order.size;
	return 0;
}

/* ---- values ---- */

static bool get_bytes(struct decoder_column *c, uint8_t *field)
{
	uint64_t size;
	if (!get_uleb(c, &size) || size > (size_t)(c->end - c->p))
		return false;
	struct record_bytes bytes = { .data = c->p, .size = size };
	memcpy(field, &bytes, sizeof(bytes));
	c->p += size;
	return true;
}

static bool get_frames(struct decoder *d, struct decoder_column *c, uint32_t id)
{
	struct stack_delta *s = &d->stack;
	uint32_t back;

	if (!get_u32(c, &back) || !get_u32(c, &s->kept) || !get_u32(c, &s->count) || back > id ||
	    s->kept > STACK_FRAMES_MAX || s->count > STACK_FRAMES_MAX - s->kept)
		return false;
	s->parent = back ? id - back : 0;
	uint64_t offset = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t difference;
		if (!get_u32(c, &d->frames[i].object) || !get_uleb(c, &difference))
			return false;
		offset += unzigzag(difference);
		d->frames[i].offset = offset;
	}
	s->frames = d->frames;
	return true;
}

static bool get_lines(struct decoder *d, struct decoder_column *c, struct record_symbol *s)
{
	uint32_t count;
	if (!get_u32(c, &count) || count > SYMBOL_LINES_MAX)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct record_symbol_line *line = &d->lines[i];
		if (!get_u32(c, &line->name) || !get_u32(c, &line->file) ||
		    !get_u32(c, &line->line))
			return false;
	}
	s->count = count;
	s->lines = d->lines;
	return true;
}

static uint64_t number(struct decoder_column *c, const struct field *f, uint64_t value,
		       uint64_t *time_ns)
{
	switch (f->kind) {
	case FIELD_SIGNED:
		return unzigzag(value);
	case FIELD_TIME:
		c->last = (*time_ns ? *time_ns : c->last) + unzigzag(value);
		*time_ns = c->last;
		return c->last;
	case FIELD_ID:
	case FIELD_CORRELATION:
		value = c->last + unzigzag(value);
		if (value)
			c->last = value;
		return value;
	default:
		return value;
	}
}

static bool get_number(struct decoder_column *c, const struct field *f, uint8_t *body,
		       uint64_t *time_ns)
{
	uint64_t value;
	if (!get_uleb(c, &value))
		return false;
	value = number(c, f, value, time_ns);
	if (f->size == sizeof(value)) {
		memcpy(body + f->offset, &value, sizeof(value));
		return true;
	}
	uint32_t narrow = (uint32_t)value;
	memcpy(body + f->offset, &narrow, sizeof(narrow));
	return value <= UINT32_MAX;
}

static bool get_field(struct decoder *d, struct decoder_column *c, const struct field *f,
		      struct record *rec, uint64_t *time_ns)
{
	uint8_t *body = record_body(rec);
	uint32_t triple[3];

	switch (f->kind) {
	case FIELD_BYTES:
		return get_bytes(c, body + f->offset);
	case FIELD_FRAMES:
		return get_frames(d, c, rec->stack.id);
	case FIELD_LINES:
		return get_lines(d, c, &rec->symbol);
	case FIELD_TRIPLE:
		if (!get_u32(c, &triple[0]) || !get_u32(c, &triple[1]) || !get_u32(c, &triple[2]))
			return false;
		memcpy(body + f->offset, triple, sizeof(triple));
		return true;
	case FIELD_F64:
		if ((size_t)(c->end - c->p) < sizeof(double))
			return false;
		memcpy(body + f->offset, c->p, sizeof(double));
		c->p += sizeof(double);
		return true;
	default:
		return get_number(c, f, body, time_ns);
	}
}

int decoder_next(struct decoder *d, struct record *ret)
{
	const struct record_layout *layout = NULL;
	uint64_t time_ns = 0;
	unsigned type = 0;

	for (; !layout; layout = record_layout(type)) {
		if (d->order == d->order_end)
			return 0;
		type = *d->order++;
		d->unknown_records += !record_layout(type);
	}
	ret->type = type;
	memset(record_body(ret), 0, layout->size);
	d->stack.count = d->stack.parent = d->stack.kept = 0;
	for (size_t i = 0; i < layout->count; i++) {
		struct decoder_column *c = &d->columns[type][i];
		if (!c->end)
			continue;
		if (!get_field(d, c, &layout->fields[i], ret, &time_ns))
			return -EBADMSG;
	}
	return 1;
}
