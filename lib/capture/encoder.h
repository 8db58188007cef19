/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records on their way into a chunk, field by field: all values of one field of one record type lie
 * together in a column. What varies little within its column costs almost nothing once compressed,
 * whatever noise the fields beside it have: a launch and its dispatch take a third of what they
 * take record by record. Does not know what numbers refer to.
 */
#pragma once

#include "base/vec.h"
#include "capture/field.h"
#include "capture/record.h"

#include <stdbool.h>
#include <zlib.h>

/* Two counts; for each type its number, a count and a size for each field; each at most 2^21. */
#define ENCODER_DIRECTORY_MAX ((size_t)3 * (2 + RECORD_TYPE_COUNT * (2 + RECORD_FIELDS_MAX)))

/* A stack as it is written: what it adds to one that was written before. */
struct stack_delta {
	uint32_t parent; /* stack; 0: none */
	uint32_t kept;   /* frames of it, from its root */
	uint32_t count;  /* of @frames */
	/* Root first. Offsets are relative to that of the last kept frame. */
	const struct record_frame *frames;
};

struct encoder_column {
	VEC(uint8_t) bytes;
	uint64_t last;  /* what the next difference is taken to */
	bool has_value; /* one that is not 0 */
};

struct encoder_section {
	struct encoder_column *columns; /* by field; NULL until the first record */
	uint64_t records;
};

/* All-zero is an empty one. */
struct encoder {
	struct encoder_section sections[RECORD_TYPE_COUNT];
	VEC(uint8_t) order; /* the type of each record */
	size_t bytes;       /* in all columns */
};

void encoder_release(struct encoder *e);
/* Start the next chunk. */
void encoder_reset(struct encoder *e);
/* @stack for RECORD_STACK only. 0, -E2BIG beyond RECORD_MAX_BYTES (nothing changed), -ENOMEM. */
int encoder_add(struct encoder *e, const struct record *rec, const struct stack_delta *stack);
/* Bytes of the chunk so far, but for its directory of at most ENCODER_DIRECTORY_MAX. */
size_t encoder_size(const struct encoder *e);
/*
 * Squeeze it all into @out: the compressed size, and in @ret_inflated that before. @room must be
 * enough for what does not compress. Negative: -ENOMEM, -EINVAL.
 */
int64_t encoder_deflate(struct encoder *e, z_stream *z, uint8_t *out, size_t room,
			uint32_t *ret_inflated);
