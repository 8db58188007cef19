/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/definitions.h"

#include <errno.h>
#include <string.h>

/* A training job of weeks has tens of megabytes of names; this keeps a bomb from taking all memory. */
#define STRINGS_MAX_BYTES (1ull << 30)
/* Frames given out in STACK records. Stacks share most frames in the file, so that a few bytes can
 * ask for thousands: what a real file of its size could need, and no more. A second of work. */
#define FRAMES_FREE     (64ull << 20)
#define FRAMES_PER_BYTE 256u

static const char damaged_text[] = "[damaged]";
static const struct record_frame damaged_frame = { .object = RECORD_DAMAGED };

void definitions_release(struct definitions *d)
{
	arena_release(&d->arena);
	vec_release(&d->strings);
	vec_release(&d->objects);
	stacks_release(&d->stacks);
}

static bool has_string(const struct definitions *d, uint32_t id)
{
	return !id || (id < d->strings.len && d->strings.data[id].data);
}

static bool has_object(const struct definitions *d, uint32_t id)
{
	return !id || (id < d->objects.len && d->objects.data[id]);
}

int definitions_string(struct definitions *d, struct record_string *string)
{
	if (!string->id || string->id > DEFINITION_ID_MAX)
		return -EBADMSG;
	if (has_string(d, string->id))
		return 0;
	if (d->arena.used_bytes + string->text.size > STRINGS_MAX_BYTES)
		return -EBADMSG;
	char *copy = arena_copy(&d->arena, string->text.data, string->text.size);
	if (!copy || vec_reserve(&d->strings, string->id + 1) < 0)
		return -ENOMEM;
	while (d->strings.len <= string->id)
		d->strings.data[d->strings.len++] = (struct span){ 0 };
	d->strings.data[string->id] = span_of(copy, string->text.size);
	string->text.data = copy;
	return 1;
}

int definitions_object(struct definitions *d, const struct record_object *object)
{
	if (!object->id || object->id > DEFINITION_ID_MAX)
		return -EBADMSG;
	if (has_object(d, object->id))
		return 0;
	if (vec_reserve(&d->objects, object->id + 1) < 0)
		return -ENOMEM;
	while (d->objects.len <= object->id)
		d->objects.data[d->objects.len++] = false;
	d->objects.data[object->id] = true;
	return 1;
}

int definitions_stack(struct definitions *d, struct record_stack *stack, struct decoder *decoder)
{
	if (stack->id == RECORD_DAMAGED)
		return -EBADMSG;
	for (uint32_t i = 0; i < decoder->stack.count; i++) {
		struct record_frame *f = &decoder->frames[i];
		if (!has_object(d, f->object))
			f->object = RECORD_DAMAGED;
	}
	stack->parent = decoder->stack.parent;
	stack->kept = stack->parent ? decoder->stack.kept : 0;
	stack->count = decoder->stack.count + stack->kept;
	stack->frames = decoder->frames;
	uint32_t count = decoder->stack.count + (d->leaves_kept ? 0 : stack->kept);
	if (d->frames_given + count > FRAMES_FREE + d->bytes_read * FRAMES_PER_BYTE)
		return -EBADMSG;
	int rc = stacks_define(&d->stacks, stack->id, stack->flags, &decoder->stack, &stack->above);
	if (rc <= 0)
		return rc == -ENOENT ? 0 : rc;

	const struct stack_entry *entry = stacks_get(&d->stacks, stack->id);
	stack->first = decoder->stack.count ? entry->leaf - decoder->stack.count + 1 : 0;
	d->frames_given += count;
	stacks_expand(&d->stacks, entry, count, decoder->frames);
	for (uint32_t i = 0; i < count; i++) {
		if (decoder->frames[i].object == RECORD_DAMAGED)
			decoder->frames[i].offset = 0;
	}
	return 1;
}

int definitions_frames(const struct definitions *d, uint32_t id, struct record_frame *frames,
		       struct record_stack *ret)
{
	*ret = (struct record_stack){ .id = id, .count = 1, .frames = frames };
	if (id == RECORD_DAMAGED) {
		frames[0] = damaged_frame;
		return 0;
	}
	const struct stack_entry *entry = stacks_get(&d->stacks, id);
	if (!entry)
		return -EBADMSG;
	ret->count = entry->depth;
	ret->flags = entry->flags;
	stacks_expand(&d->stacks, entry, ret->count, frames);
	return 0;
}

static bool is_known(const struct definitions *d, enum field_kind kind, uint32_t id)
{
	switch (kind) {
	case FIELD_STRING:
		return has_string(d, id);
	case FIELD_OBJECT:
		return has_object(d, id);
	default:
		return !id || stacks_get(&d->stacks, id);
	}
}

static unsigned check_lines(const struct definitions *d, const struct record_symbol *symbol,
			    struct decoder *decoder)
{
	unsigned needs = 0;
	for (uint32_t i = 0; i < symbol->count; i++) {
		struct record_symbol_line *line = &decoder->lines[i];
		if (!is_known(d, FIELD_STRING, line->name)) {
			line->name = RECORD_DAMAGED;
			needs = DAMAGED_STRING;
		}
		if (!is_known(d, FIELD_STRING, line->file)) {
			line->file = RECORD_DAMAGED;
			needs = DAMAGED_STRING;
		}
	}
	return needs;
}

/* What is kept of a parent was checked when that was given out. */
static unsigned check_frames(const struct record_stack *stack)
{
	for (uint32_t i = 0; i < stack->count - stack->kept; i++) {
		if (stack->frames[i].object == RECORD_DAMAGED)
			return DAMAGED_STRING | DAMAGED_OBJECT;
	}
	return 0;
}

unsigned definitions_check(const struct definitions *d, struct record *rec, struct decoder *decoder)
{
	const struct record_layout *layout = record_layout(rec->type);
	const uint32_t damaged = RECORD_DAMAGED;
	uint8_t *body = record_body(rec);
	unsigned needs = 0;

	for (size_t i = 0; i < layout->count; i++) {
		const struct field *f = &layout->fields[i];
		uint32_t id;
		switch (f->kind) {
		case FIELD_STRING:
		case FIELD_OBJECT:
		case FIELD_STACK:
			memcpy(&id, body + f->offset, sizeof(id));
			if (is_known(d, f->kind, id))
				break;
			memcpy(body + f->offset, &damaged, sizeof(damaged));
			needs |= DAMAGED_STRING;
			if (f->kind != FIELD_STRING)
				needs |= DAMAGED_OBJECT;
			if (f->kind == FIELD_STACK)
				needs |= DAMAGED_STACK;
			break;
		case FIELD_LINES:
			needs |= check_lines(d, &rec->symbol, decoder);
			break;
		case FIELD_FRAMES:
			needs |= check_frames(&rec->stack);
			break;
		default:
			break;
		}
	}
	return needs;
}

struct record definitions_damaged(enum damaged_part part)
{
	switch (part) {
	case DAMAGED_STRING:
		return (struct record){
			.type = RECORD_STRING,
			.string = { .id = RECORD_DAMAGED,
				    .text = { damaged_text, sizeof(damaged_text) - 1 } },
		};
	case DAMAGED_OBJECT:
		return (struct record){
			.type = RECORD_OBJECT,
			.object = { .id = RECORD_DAMAGED,
				    .kind = OBJECT_MISSING,
				    .name = RECORD_DAMAGED },
		};
	case DAMAGED_STACK:
		break;
	}
	return (struct record){
		.type = RECORD_STACK,
		.stack = { .id = RECORD_DAMAGED, .count = 1, .frames = &damaged_frame },
	};
}

struct span definitions_text(const struct definitions *d, uint32_t id)
{
	if (!id)
		return span_of("", 0);
	if (has_string(d, id))
		return d->strings.data[id];
	return span_of(damaged_text, sizeof(damaged_text) - 1);
}
