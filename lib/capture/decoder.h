/* SPDX-License-Identifier: Apache-2.0 */
/* Records out of a chunk's columns, see encoder.h; hostile bytes are expected. */
#pragma once

#include "base/span.h"
#include "capture/encoder.h"
#include "capture/limits.h"
#include "capture/record.h"

struct decoder_column {
	const uint8_t *p, *end; /* NULL: every value is 0 */
	uint64_t last;
};

struct decoder {
	const uint8_t *order, *order_end;
	struct decoder_column columns[RECORD_TYPE_COUNT][RECORD_FIELDS_MAX];
	uint64_t unknown_records; /* in all chunks */
	/* What a record that was given out points to; until the next call. */
	struct record_frame frames[STACK_FRAMES_MAX];
	struct record_symbol_line lines[SYMBOL_LINES_MAX];
	struct stack_delta stack; /* of the last STACK */
};

/* Those of the next chunk: 0, or -EBADMSG when the directory and the payload do not fit together. */
int decoder_start(struct decoder *d, struct span payload);
/*
 * 1 and the next record of a type this version knows; 0 at the end; -EBADMSG when malformed: then
 * nothing more can be had. Of a STACK, `count` and `frames` are left empty, what was read is in
 * d->stack. Bytes are views into the payload.
 */
int decoder_next(struct decoder *d, struct record *ret);
/* Forget the rest of the chunk. */
void decoder_stop(struct decoder *d);
/* How many records, known or not, are left in the chunk. */
static inline size_t decoder_left(const struct decoder *d)
{
	return (size_t)(d->order_end - d->order);
}
