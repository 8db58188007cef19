/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/writer.h"

#include "base/strtab.h"
#include "base/vec.h"
#include "capture/chunk.h"
#include "capture/encoder.h"
#include "capture/field.h"
#include "capture/limits.h"
#include "capture/output.h"
#include "capture/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Large enough to compress well, small enough that damage takes little. */
#define CHUNK_BYTES (256u << 10)
/* How much has to be read before every reference is good again after damage. */
#define EPOCH_BYTES (64u << 20)
#define CUT_MARK    "[cut]"
/* Of a string in its table, besides its bytes: place, hash, slots and epoch. */
#define STRING_OVERHEAD 40

/* An object that was given out: its strings have to be defined wherever it is. */
struct writer_object {
	uint32_t name, path;
	uint32_t epoch; /* the last one that has its definition; 0 none */
};

struct capture_writer {
	struct output out;
	uint32_t chunk_bytes;
	uint64_t epoch_bytes;
	uint32_t epoch_frames;

	struct encoder chunk; /* the current one */
	uint8_t *stored;      /* CHUNK_HEADER_BYTES + CHUNK_STORED_MAX */
	z_stream deflate;
	uint32_t sequence;

	uint32_t epoch;      /* from 1 */
	uint64_t epoch_used; /* bytes of closed chunks */
	bool starts_epoch;   /* the current chunk */

	struct strtab strings;
	uint64_t string_bytes, string_bytes_max;
	VEC(uint32_t) string_epochs; /* by number: the last epoch that has its definition */
	struct strtab objects;       /* encoded, without their number; strtab's is the object's */
	VEC(struct writer_object) object_refs; /* by number */
	struct stacks stacks, old_stacks;      /* of this epoch and the one before */
	struct record_frame *frames;           /* STACK_FRAMES_MAX, scratch */

	capture_want_fn want; /* NULL: everything */
	void *want_data;

	int error; /* out of memory, or of the output: sticks */
	bool has_ended;
	uint64_t raw_bytes, records, device_samples;
};

static int writer_fail(struct capture_writer *w, int code)
{
	if (!w->error) {
		w->error = code;
		if (!w->out.error)
			err_set(&w->out.err, code, "cannot write to '%s'", w->out.path);
	}
	return w->error;
}

static int writer_prepare(struct capture_writer *w, const struct capture_writer_options *opt)
{
	int level = opt->level == CAPTURE_LEVEL_STORED ? Z_NO_COMPRESSION
		    : opt->level                       ? opt->level
						       : Z_BEST_SPEED;

	w->chunk_bytes = opt->chunk_bytes ? opt->chunk_bytes : CHUNK_BYTES;
	w->epoch_bytes = opt->epoch_bytes ? opt->epoch_bytes : EPOCH_BYTES;
	w->epoch_frames = opt->epoch_frames ? opt->epoch_frames : STACKS_NODES_RECORDER;
	w->string_bytes_max = opt->string_bytes_max ? opt->string_bytes_max : UINT64_MAX;
	w->epoch = 1;
	w->starts_epoch = true;
	w->stacks.first = 1;
	w->stored = malloc(CHUNK_HEADER_BYTES + CHUNK_STORED_MAX);
	w->frames = malloc(STACK_FRAMES_MAX * sizeof(*w->frames));
	if (!w->stored || !w->frames)
		return -ENOMEM;
	return deflateInit(&w->deflate, level) == Z_OK ? 0 : -ENOMEM;
}

int capture_writer_open(struct capture_writer **ret, const struct capture_writer_options *opt,
			struct err *err)
{
	CLEANUP(capture_writer_free) struct capture_writer *w = calloc(1, sizeof(*w));
	if (!w)
		return err_set(err, -ENOMEM, "cannot write a capture");
	w->out.fd = -1;
	int rc = output_open(&w->out, opt->path, opt->fd, err);
	if (rc < 0)
		return rc;
	rc = writer_prepare(w, opt);
	if (rc < 0)
		return err_set(err, rc, "cannot write to '%s'", w->out.path);
	*ret = TAKE(w);
	return 0;
}

void capture_writer_free(struct capture_writer *w)
{
	if (!w)
		return;
	if (w->chunk.order.len)
		(void)capture_writer_flush(w);
	output_release(&w->out);
	deflateEnd(&w->deflate);
	encoder_release(&w->chunk);
	free(w->stored);
	free(w->frames);
	strtab_release(&w->strings);
	vec_release(&w->string_epochs);
	strtab_release(&w->objects);
	vec_release(&w->object_refs);
	stacks_release(&w->stacks);
	stacks_release(&w->old_stacks);
	free(w);
}

int capture_writer_commit(struct capture_writer *w, struct err *err)
{
	return output_commit(&w->out, err);
}

/* ---- chunks and epochs ---- */

static int chunk_close(struct capture_writer *w)
{
	uint32_t inflated;

	if (!w->chunk.order.len)
		return 0;
	int64_t size = encoder_deflate(&w->chunk, &w->deflate, w->stored + CHUNK_HEADER_BYTES,
				       CHUNK_STORED_MAX, &inflated);
	if (size < 0)
		return writer_fail(w, (int)size);
	const struct chunk_header h = {
		.version = CAPTURE_VERSION,
		.flags = w->starts_epoch ? CHUNK_STARTS_EPOCH : 0,
		.sequence = w->sequence++,
		.inflated_bytes = inflated,
		.stored_bytes = (uint32_t)size,
		.crc = chunk_crc(w->stored + CHUNK_HEADER_BYTES, (size_t)size),
	};
	chunk_header_pack(&h, w->stored);
	int rc = output_write(&w->out, w->stored, CHUNK_HEADER_BYTES + (size_t)size);
	if (rc < 0)
		return writer_fail(w, rc);
	w->raw_bytes += inflated;
	w->epoch_used += inflated;
	w->starts_epoch = false;
	encoder_reset(&w->chunk);
	return 0;
}

static int epoch_start(struct capture_writer *w)
{
	int rc = chunk_close(w);
	if (rc < 0)
		return rc;
	struct stacks oldest = w->old_stacks;
	stacks_retire(&w->stacks);
	w->old_stacks = w->stacks;
	w->stacks = oldest;
	stacks_restart(&w->stacks, w->old_stacks.first + (uint32_t)w->old_stacks.entries.len);
	w->epoch++;
	w->epoch_used = 0;
	w->starts_epoch = true;
	return 0;
}

/* Where a chunk or an epoch may end: no definition stands without what it was written for. */
static int writer_ready(struct capture_writer *w)
{
	if (w->error)
		return w->error;
	if (w->has_ended)
		return -EINVAL;
	size_t used = encoder_size(&w->chunk);
	if (w->epoch_used + used >= w->epoch_bytes || w->stacks.nodes.len >= w->epoch_frames ||
	    w->stacks.entries.len >= w->epoch_frames)
		return epoch_start(w);
	return used >= w->chunk_bytes ? chunk_close(w) : 0;
}

static int writer_append(struct capture_writer *w, const struct record *rec,
			 const struct stack_delta *stack)
{
	/* Between a definition and what it is for, where there is no room for both. */
	if (encoder_size(&w->chunk) + RECORD_MAX_BYTES + ENCODER_DIRECTORY_MAX >
	    CHUNK_INFLATED_MAX) {
		int rc = chunk_close(w);
		if (rc < 0)
			return rc;
	}
	int rc = encoder_add(&w->chunk, rec, stack);
	if (rc < 0)
		return rc == -E2BIG ? rc : writer_fail(w, rc);
	w->records++;
	return 0;
}

/* ---- definitions ---- */

static int define_string(struct capture_writer *w, uint32_t id)
{
	if (!id)
		return 0;
	if (id >= w->string_epochs.len)
		return -EINVAL;
	if (w->string_epochs.data[id] == w->epoch)
		return 0;
	struct span text = strtab_get(&w->strings, id);
	struct record rec = {
		.type = RECORD_STRING,
		.string = { .id = id, .text = { .data = text.data, .size = text.size } },
	};
	int rc = writer_append(w, &rec, NULL);
	if (rc < 0)
		return rc;
	w->string_epochs.data[id] = w->epoch;
	return 0;
}

static int define_object(struct capture_writer *w, uint32_t id)
{
	if (!id)
		return 0;
	if (id >= w->object_refs.len)
		return -EINVAL;
	struct writer_object *refs = &w->object_refs.data[id];
	if (refs->epoch == w->epoch)
		return 0;
	int rc = define_string(w, refs->name);
	if (rc >= 0)
		rc = define_string(w, refs->path);
	if (rc < 0)
		return rc;
	struct span kept = strtab_get(&w->objects, id);
	struct record rec = { .type = RECORD_OBJECT };
	memcpy(&rec.object, kept.data, sizeof(rec.object));
	rec.object.id = id;
	rec.object.build_id.data = kept.data + sizeof(rec.object);
	rc = writer_append(w, &rec, NULL);
	if (rc < 0)
		return rc;
	refs->epoch = w->epoch;
	return 0;
}

static int define_stack(struct capture_writer *w, const struct stack_delta *delta, uint32_t id,
			uint32_t flags)
{
	for (uint32_t i = 0; i < delta->count; i++) {
		int rc = define_object(w, delta->frames[i].object);
		if (rc < 0)
			return rc;
	}
	struct record rec = { .type = RECORD_STACK, .stack = { .id = id, .flags = flags } };
	return writer_append(w, &rec, delta);
}

static int intern_stack(struct capture_writer *w, const struct record_stack *stack, uint32_t *ret)
{
	struct stack_delta delta;
	uint32_t id;
	int rc = stacks_intern(&w->stacks, stack, w->frames, &id, &delta);
	if (rc < 0)
		return writer_fail(w, rc);
	if (rc > 0) {
		rc = define_stack(w, &delta, id, stack->flags);
		if (rc < 0)
			return writer_fail(w, rc);
	}
	*ret = id;
	return 0;
}

/* A stack's number from the epoch before is replaced by a new one. */
static int renew_stack(struct capture_writer *w, uint32_t *id)
{
	if (!*id || stacks_get(&w->stacks, *id))
		return 0;
	const struct stack_entry *entry = stacks_get(&w->old_stacks, *id);
	if (!entry)
		return -EINVAL;
	uint32_t count = entry->depth;
	CLEANUP_FREE struct record_frame *frames = calloc(count + 1, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	stacks_expand(&w->old_stacks, entry, count, frames);
	return intern_stack(
		w,
		&(struct record_stack){ .flags = entry->flags, .count = count, .frames = frames },
		id);
}

static int define_lines(struct capture_writer *w, const struct record_symbol *symbol)
{
	for (uint32_t i = 0; i < symbol->count; i++) {
		int rc = define_string(w, symbol->lines[i].name);
		if (rc >= 0)
			rc = define_string(w, symbol->lines[i].file);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int define_reference(struct capture_writer *w, const struct field *f, struct record *rec)
{
	uint8_t *body = record_body(rec);
	uint32_t id;

	switch (f->kind) {
	case FIELD_STRING:
		memcpy(&id, body + f->offset, sizeof(id));
		return define_string(w, id);
	case FIELD_OBJECT:
		memcpy(&id, body + f->offset, sizeof(id));
		return define_object(w, id);
	case FIELD_STACK:
		memcpy(&id, body + f->offset, sizeof(id));
		int rc = renew_stack(w, &id);
		memcpy(body + f->offset, &id, sizeof(id));
		return rc;
	case FIELD_LINES:
		return define_lines(w, &rec->symbol);
	default:
		return 0;
	}
}

/* ---- what callers see ---- */

int capture_writer_bytes(struct capture_writer *w, const void *data, size_t size, uint32_t *ret)
{
	CLEANUP_FREE char *cut = NULL;

	if (size > CAPTURE_STRING_MAX) {
		cut = malloc(CAPTURE_STRING_MAX);
		if (!cut)
			return writer_fail(w, -ENOMEM);
		size_t mark = strlen(CUT_MARK);
		memcpy(cut, data, CAPTURE_STRING_MAX - mark);
		memcpy(cut + CAPTURE_STRING_MAX - mark, CUT_MARK, mark);
		data = cut;
		size = CAPTURE_STRING_MAX;
	}

	uint32_t id;
	bool is_fresh;
	if (w->string_bytes >= w->string_bytes_max &&
	    strtab_find(&w->strings, data, size, &id) < 0) {
		data = CAPTURE_STRING_REST;
		size = strlen(CAPTURE_STRING_REST);
	}
	if (strtab_count(&w->strings) > DEFINITION_ID_MAX)
		return writer_fail(w, -E2BIG);
	int rc = strtab_intern(&w->strings, data, size, &id, &is_fresh);
	if (rc >= 0 && is_fresh)
		w->string_bytes += size + STRING_OVERHEAD;
	if (rc >= 0)
		rc = vec_reserve(&w->string_epochs, strtab_count(&w->strings));
	if (rc < 0)
		return writer_fail(w, rc);
	while (w->string_epochs.len < strtab_count(&w->strings))
		w->string_epochs.data[w->string_epochs.len++] = 0;
	*ret = id;
	return w->error;
}

int capture_writer_string(struct capture_writer *w, const char *text, uint32_t *ret)
{
	return capture_writer_bytes(w, text, strlen(text), ret);
}

int capture_writer_object(struct capture_writer *w, const struct record_object *object,
			  uint32_t *ret)
{
	/* The key is the struct, cleared where it has holes or says nothing, and the build-id. */
	uint8_t key[sizeof(*object) + 256];
	struct record_object *copy = &(struct record_object){ 0 };
	uint32_t id;

	if (object->build_id.size > sizeof(key) - sizeof(*object))
		return -E2BIG;
	memset(copy, 0, sizeof(*copy));
	copy->kind = object->kind;
	copy->flags = object->flags;
	copy->name = object->name;
	copy->path = object->path;
	copy->process = object->process;
	copy->line = object->line;
	copy->size = object->size;
	copy->generation = object->generation;
	copy->code_object = object->code_object;
	copy->frame_kind = object->frame_kind;
	copy->build_id.size = object->build_id.size;
	memcpy(key, copy, sizeof(*copy));
	if (object->build_id.size)
		memcpy(key + sizeof(*copy), object->build_id.data, object->build_id.size);

	if (strtab_count(&w->objects) > DEFINITION_ID_MAX)
		return writer_fail(w, -E2BIG);
	int rc = strtab_intern(&w->objects, key, sizeof(*copy) + object->build_id.size, &id, NULL);
	if (rc >= 0)
		rc = vec_reserve(&w->object_refs, strtab_count(&w->objects));
	if (rc < 0)
		return writer_fail(w, rc);
	while (w->object_refs.len < strtab_count(&w->objects))
		w->object_refs.data[w->object_refs.len++] =
			(struct writer_object){ .name = object->name, .path = object->path };
	*ret = id;
	return w->error;
}

/* Every object was given out. */
static bool knows_objects(const struct capture_writer *w, const struct record_frame *frames,
			  uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (frames[i].object >= w->object_refs.len)
			return false;
	}
	return true;
}

int capture_writer_stack(struct capture_writer *w, const struct record_frame *frames,
			 uint32_t count, uint32_t flags, uint32_t *ret)
{
	int rc = writer_ready(w);
	if (rc < 0)
		return rc;
	if (count > STACK_FRAMES_MAX) {
		count = STACK_FRAMES_MAX;
		flags &= (1u << STACK_CAUSE_SHIFT) - 1 - STACK_ROOTED;
		flags |= (uint32_t)STACK_CAUSE_TOO_DEEP << STACK_CAUSE_SHIFT;
	}
	if (!knows_objects(w, frames, count))
		return -EINVAL;
	return intern_stack(
		w, &(struct record_stack){ .flags = flags, .count = count, .frames = frames }, ret);
}

int capture_writer_stack_like(struct capture_writer *w, const struct record_stack *stack,
			      uint32_t *ret, uint32_t *ret_known)
{
	struct record_stack like = *stack;
	struct stack_delta delta;
	uint32_t id;
	int rc = writer_ready(w);
	if (rc >= 0)
		rc = renew_stack(w, &like.parent);
	if (rc < 0)
		return rc;
	const struct stack_entry *parent = stacks_get(&w->stacks, like.parent);
	if (like.kept > (parent ? parent->depth : 0) || like.count < like.kept ||
	    like.count > STACK_FRAMES_MAX || !knows_objects(w, like.frames, like.count - like.kept))
		return -EINVAL;
	rc = stacks_append(&w->stacks, &like, w->frames, &id, &delta);
	if (rc >= 0)
		rc = define_stack(w, &delta, id, like.flags);
	if (rc < 0)
		return writer_fail(w, rc);
	*ret = id;
	*ret_known = delta.kept;
	return 0;
}

int capture_writer_stack_renew(struct capture_writer *w, uint32_t *stack)
{
	int rc = writer_ready(w);
	return rc < 0 ? rc : renew_stack(w, stack);
}

uint32_t capture_writer_epoch(const struct capture_writer *w)
{
	return w->epoch;
}

void capture_writer_want(struct capture_writer *w, capture_want_fn fn, void *data)
{
	w->want = fn;
	w->want_data = data;
}

int capture_writer_put(struct capture_writer *w, const struct record *rec)
{
	const struct record_layout *layout = record_layout(rec->type);
	if (!layout || rec->type == RECORD_STRING || rec->type == RECORD_OBJECT ||
	    rec->type == RECORD_STACK)
		return -EINVAL;
	int rc = writer_ready(w);
	if (rc < 0 || (w->want && !w->want(w->want_data, rec)))
		return rc;

	struct record copy = { .type = rec->type };
	memcpy(record_body(&copy), record_body_const(rec), layout->size);
	for (size_t i = 0; i < layout->count; i++) {
		rc = define_reference(w, &layout->fields[i], &copy);
		if (rc < 0)
			return rc;
	}
	rc = writer_append(w, &copy, NULL);
	if (rc >= 0 && rec->type == RECORD_END)
		w->has_ended = true;
	if (rc >= 0 && rec->type == RECORD_PC_SAMPLE)
		w->device_samples += rec->pc_sample.count;
	return rc;
}

int capture_writer_code_object(struct capture_writer *w, const struct record_code_object *object,
			       const void *data, size_t size)
{
	size_t offset = 0;

	/* One record even where there are no bytes. */
	do {
		size_t part = size - offset < RECORD_PART_BYTES ? size - offset : RECORD_PART_BYTES;
		struct record rec = { .type = RECORD_CODE_OBJECT, .code_object = *object };
		rec.code_object.total_bytes = size;
		rec.code_object.part_offset = offset;
		rec.code_object.part.data = part ? (const uint8_t *)data + offset : NULL;
		rec.code_object.part.size = part;
		int rc = capture_writer_put(w, &rec);
		if (rc < 0)
			return rc;
		offset += part;
	} while (offset < size);
	return 0;
}

int capture_writer_flush(struct capture_writer *w)
{
	return w->error ? w->error : chunk_close(w);
}

struct capture_writer_stats capture_writer_stats(const struct capture_writer *w)
{
	return (struct capture_writer_stats){
		.bytes = w->out.written,
		.raw_bytes = w->raw_bytes + encoder_size(&w->chunk),
		.records = w->records,
		.device_samples = w->device_samples,
	};
}

const char *capture_writer_error(const struct capture_writer *w)
{
	return w->error ? w->out.err.text : "";
}
