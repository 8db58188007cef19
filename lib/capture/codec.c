/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/codec.h"

#include "capture/field.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* Doubles and chunk headers are copied as they lie in memory. */
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "captures are little endian");

/* Longest form of any field that has a fixed number of numbers: three of 10 bytes. */
#define FIELD_FIXED_MAX 32

static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static uint64_t unzigzag(uint64_t value)
{
	return value >> 1 ^ (0 - (value & 1));
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

/* ---- to bytes ---- */

struct encoder {
	struct codec state;
	uint8_t *p, *end;
	uint8_t *mark; /* behind the last field that is not 0 */
};

static bool encoder_has(const struct encoder *e, size_t size)
{
	return (size_t)(e->end - e->p) >= size;
}

static void put_uleb(struct encoder *e, uint64_t value)
{
	uint8_t *p = e->p;
	for (; value >= 0x80; value >>= 7)
		*p++ = (uint8_t)(value | 0x80);
	*p++ = (uint8_t)value;
	e->p = p;
}

static int encode_bytes(struct encoder *e, const uint8_t *body, const struct field *f)
{
	struct record_bytes bytes;
	memcpy(&bytes, body + f->offset, sizeof(bytes));
	if (bytes.size > RECORD_MAX_BYTES || !encoder_has(e, bytes.size + FIELD_FIXED_MAX))
		return -E2BIG;
	put_uleb(e, bytes.size);
	if (bytes.size) {
		memcpy(e->p, bytes.data, bytes.size);
		e->p += bytes.size;
		e->mark = e->p;
	}
	return 0;
}

static int encode_frames(struct encoder *e, uint32_t id, const struct codec_stack *s)
{
	if (!encoder_has(e, ((size_t)s->count + 1) * FIELD_FIXED_MAX))
		return -E2BIG;
	put_uleb(e, s->parent ? id - s->parent : 0);
	put_uleb(e, s->kept);
	put_uleb(e, s->count);
	uint64_t before = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		put_uleb(e, s->frames[i].object);
		put_uleb(e, zigzag(s->frames[i].offset - before));
		before = s->frames[i].offset;
	}
	if (s->parent || s->count)
		e->mark = e->p;
	return 0;
}

static int encode_lines(struct encoder *e, const struct record_symbol *s)
{
	if (s->count > SYMBOL_LINES_MAX ||
	    !encoder_has(e, ((size_t)s->count + 1) * FIELD_FIXED_MAX))
		return -E2BIG;
	put_uleb(e, s->count);
	for (uint32_t i = 0; i < s->count; i++) {
		put_uleb(e, s->lines[i].name);
		put_uleb(e, s->lines[i].file);
		put_uleb(e, s->lines[i].line);
	}
	if (s->count)
		e->mark = e->p;
	return 0;
}

/* The value as it is written, which for some kinds depends on what came before. */
static uint64_t encode_number(struct encoder *e, const struct field *f, uint64_t value)
{
	uint64_t before;

	switch (f->kind) {
	case FIELD_SIGNED:
		return zigzag(value);
	case FIELD_TIME:
		before = e->state.time_ns;
		e->state.time_ns = value;
		return zigzag(value - before);
	case FIELD_CORRELATION:
		before = e->state.correlation;
		if (value)
			e->state.correlation = value;
		return zigzag(value - before);
	default:
		return value;
	}
}

static int encode_field(struct encoder *e, const struct field *f, const struct record *rec,
			const struct codec_stack *stack)
{
	const uint8_t *body = record_body_const(rec);
	uint32_t triple[3];
	uint64_t value;

	if (!encoder_has(e, FIELD_FIXED_MAX))
		return -E2BIG;
	switch (f->kind) {
	case FIELD_BYTES:
		return encode_bytes(e, body, f);
	case FIELD_FRAMES:
		return encode_frames(e, rec->stack.id, stack);
	case FIELD_LINES:
		return encode_lines(e, &rec->symbol);
	case FIELD_F64:
		memcpy(e->p, body + f->offset, sizeof(double));
		value = load(f, body);
		e->p += sizeof(double);
		break;
	case FIELD_TRIPLE:
		memcpy(triple, body + f->offset, sizeof(triple));
		value = triple[0] | triple[1] | triple[2];
		for (int i = 0; i < 3; i++)
			put_uleb(e, triple[i]);
		break;
	default:
		value = load(f, body);
		put_uleb(e, encode_number(e, f, value));
		/* A difference of 0 is not the same as a time of 0: it has to be written. */
		if (f->kind == FIELD_TIME)
			value = 1;
	}
	if (value)
		e->mark = e->p;
	return 0;
}

int64_t record_encode(struct codec *c, const struct record *rec, const struct codec_stack *stack,
		      uint8_t *out, size_t room)
{
	const struct record_layout *layout = record_layout(rec->type);
	struct encoder e = { .state = *c };

	/* Most payloads are below 128 bytes: room for one byte of size, moved where that is not
	 * enough. */
	enum {
		START = 2,
		SIZE_MORE = 2
	};
	if (room > RECORD_MAX_BYTES)
		room = RECORD_MAX_BYTES;
	if (room < START + SIZE_MORE)
		return -E2BIG;
	e.p = e.mark = out + START;
	e.end = out + room - SIZE_MORE;

	for (size_t i = 0; i < layout->count; i++) {
		int rc = encode_field(&e, &layout->fields[i], rec, stack);
		if (rc < 0)
			return rc;
	}

	size_t size = (size_t)(e.mark - (out + START));
	struct encoder head = { .p = out };
	*head.p++ = (uint8_t)rec->type;
	if (size >= 0x80)
		memmove(out + START + (size >= 0x4000 ? 2 : 1), out + START, size);
	put_uleb(&head, size);
	*c = e.state;
	return head.p - out + (int64_t)size;
}

/* ---- from bytes ---- */

struct decoder {
	struct codec state;
	const uint8_t *p, *end;
};

/* False when the number is cut short or has more than 64 bits. */
static inline bool get_uleb(struct decoder *d, uint64_t *ret)
{
	const uint8_t *p = d->p;
	if (p < d->end && *p < 0x80) {
		*ret = *p;
		d->p = p + 1;
		return true;
	}
	uint64_t value = 0;
	for (unsigned shift = 0; p < d->end && shift < 64; shift += 7) {
		uint64_t byte = *p++;
		if (shift == 63 && byte > 1)
			return false;
		value |= (byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = value;
			d->p = p;
			return true;
		}
	}
	return false;
}

static inline bool get_u32(struct decoder *d, uint32_t *ret)
{
	uint64_t value;
	if (!get_uleb(d, &value) || value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

static bool decode_bytes(struct decoder *d, uint8_t *field)
{
	uint64_t size;
	if (!get_uleb(d, &size) || size > (size_t)(d->end - d->p))
		return false;
	struct record_bytes bytes = { .data = d->p, .size = size };
	memcpy(field, &bytes, sizeof(bytes));
	d->p += size;
	return true;
}

static bool decode_frames(struct decoder *d, uint32_t id, struct codec_scratch *scratch)
{
	struct codec_stack *s = &scratch->stack;
	uint32_t back;

	if (!get_u32(d, &back) || !get_u32(d, &s->kept) || !get_u32(d, &s->count) || back > id ||
	    s->kept > STACK_FRAMES_MAX || s->count > STACK_FRAMES_MAX - s->kept)
		return false;
	s->parent = back ? id - back : 0;
	uint64_t offset = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t difference;
		if (!get_u32(d, &scratch->frames[i].object) || !get_uleb(d, &difference))
			return false;
		offset += unzigzag(difference);
		scratch->frames[i].offset = offset;
	}
	s->frames = scratch->frames;
	return true;
}

static bool decode_lines(struct decoder *d, struct record_symbol *s, struct codec_scratch *scratch)
{
	uint32_t count;
	if (!get_u32(d, &count) || count > SYMBOL_LINES_MAX)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct record_symbol_line *line = &scratch->lines[i];
		if (!get_u32(d, &line->name) || !get_u32(d, &line->file) ||
		    !get_u32(d, &line->line))
			return false;
	}
	s->count = count;
	s->lines = scratch->lines;
	return true;
}

static uint64_t decode_number(struct decoder *d, const struct field *f, uint64_t value)
{
	switch (f->kind) {
	case FIELD_SIGNED:
		return unzigzag(value);
	case FIELD_TIME:
		d->state.time_ns += unzigzag(value);
		return d->state.time_ns;
	case FIELD_CORRELATION:
		value = d->state.correlation + unzigzag(value);
		if (value)
			d->state.correlation = value;
		return value;
	default:
		return value;
	}
}

static bool decode_field(struct decoder *d, const struct field *f, struct record *rec,
			 struct codec_scratch *scratch)
{
	uint8_t *body = record_body(rec);
	uint32_t triple[3];
	uint64_t value;

	switch (f->kind) {
	case FIELD_BYTES:
		return decode_bytes(d, body + f->offset);
	case FIELD_FRAMES:
		return decode_frames(d, rec->stack.id, scratch);
	case FIELD_LINES:
		return decode_lines(d, &rec->symbol, scratch);
	case FIELD_F64:
		if ((size_t)(d->end - d->p) < sizeof(double))
			return false;
		memcpy(body + f->offset, d->p, sizeof(double));
		d->p += sizeof(double);
		return true;
	case FIELD_TRIPLE:
		if (!get_u32(d, &triple[0]) || !get_u32(d, &triple[1]) || !get_u32(d, &triple[2]))
			return false;
		memcpy(body + f->offset, triple, sizeof(triple));
		return true;
	default:
		break;
	}
	if (!get_uleb(d, &value))
		return false;
	value = decode_number(d, f, value);
	if (f->size == sizeof(value)) {
		memcpy(body + f->offset, &value, sizeof(value));
		return true;
	}
	uint32_t narrow = (uint32_t)value;
	memcpy(body + f->offset, &narrow, sizeof(narrow));
	return value <= UINT32_MAX;
}

int record_decode(struct codec *c, unsigned type, struct span payload,
		  struct codec_scratch *scratch, struct record *ret)
{
	const struct record_layout *layout = record_layout(type);
	struct decoder d = { .state = *c, .p = payload.data, .end = payload.data + payload.size };

	ret->type = type;
	memset(record_body(ret), 0, layout->size);
	scratch->stack = (struct codec_stack){ 0 };
	/* Fields that are not there were 0, or not known to whoever wrote this. */
	for (size_t i = 0; i < layout->count && d.p < d.end; i++) {
		if (!decode_field(&d, &layout->fields[i], ret, scratch))
			return -EBADMSG;
	}
	*c = d.state;
	return 0;
}
