/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record to bytes and back, by the table of fields. Knows neither chunks nor what numbers
 * refer to.
 *
 * A stack travels as a difference to one written before: the number of that stack (relative, 0:
 * none), how many of its frames, counted from the root, are kept, and the frames that follow
 * towards the leaf, each as (object, zigzag difference of the offset). The first difference is to
 * the last kept frame, which the codec does not know: it takes and gives offsets as if that were 0.
 */
#pragma once

#include "base/span.h"
#include "capture/record.h"

/* More frames than this are a runaway recursion or damage. The kernel's own limit is 127 by
 * default, Python's recursion limit 1000. */
#define STACK_FRAMES_MAX 4096
/* An inline chain; compilers stop far earlier. */
#define SYMBOL_LINES_MAX 1024
/* Strings and objects are numbered without gaps: a reader makes room for one that says it is the
 * last, which must not be all of its memory. Gigabytes of names in the recorder, before that. */
#define DEFINITION_ID_MAX (1u << 25)
/* Type, payload size and payload of one record; a quarter more than the largest code part. */
#define RECORD_MAX_BYTES (512u << 10)

/* What differences are taken to; all zero at the start of a chunk. */
struct codec {
	uint64_t time_ns;
	uint64_t correlation;
};

/* A STACK on its way to or from bytes: goes into record_stack.frames' place. */
struct codec_stack {
	uint32_t parent;                   /* stack; 0: none */
	uint32_t kept;                     /* frames of it, from its root */
	uint32_t count;                    /* of @frames */
	const struct record_frame *frames; /* root first, offsets relative, see above */
};

/* Where decoded arrays go; borrowed by the record until the next call. */
struct codec_scratch {
	struct record_frame frames[STACK_FRAMES_MAX];
	struct record_symbol_line lines[SYMBOL_LINES_MAX];
	struct codec_stack stack;
};

/*
 * Append type, size and payload at @out; @stack for RECORD_STACK only. The number of bytes, or
 * -E2BIG when they are more than @room (or RECORD_MAX_BYTES); then @c has not changed.
 */
int64_t record_encode(struct codec *c, const struct record *rec, const struct codec_stack *stack,
		      uint8_t *out, size_t room);

/*
 * The payload of a record of a known type. Of a STACK, `count` and `frames` are left empty, what
 * was read is in @scratch->stack. Bytes are views into @payload. -EBADMSG when malformed.
 */
int record_decode(struct codec *c, unsigned type, struct span payload,
		  struct codec_scratch *scratch, struct record *ret);
