/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reader has seen defined: strings, objects and stacks, and what stands in for those that
 * damage took. Bounded, since the file may be hostile.
 */
#pragma once

#include "base/arena.h"
#include "base/span.h"
#include "base/vec.h"
#include "capture/decoder.h"
#include "capture/field.h"
#include "capture/stacks.h"

/* In the order in which they have to be given out. */
enum damaged_part {
	DAMAGED_STRING = 1 << 0,
	DAMAGED_OBJECT = 1 << 1,
	DAMAGED_STACK = 1 << 2,
};

/* All-zero is an empty one. */
struct definitions {
	struct arena arena;       /* bytes of strings */
	VEC(struct span) strings; /* by number; data NULL: not defined */
	VEC(bool) objects;        /* by number: defined */
	struct stacks stacks;
	bool leaves_kept;      /* of stacks: only what their parents do not have is given out */
	uint64_t frames_given; /* in STACK records */
	uint64_t bytes_read;   /* of the file: what earns frames */
};

void definitions_release(struct definitions *d);

/*
 * Take a definition in. 1: to be given out, and its pointers are now into what is kept (or into
 * @decoder); 0: known already, or of no use; -EBADMSG: beyond a limit or malformed; -ENOMEM.
 */
int definitions_string(struct definitions *d, struct record_string *string);
int definitions_object(struct definitions *d, const struct record_object *object);
int definitions_stack(struct definitions *d, struct record_stack *stack, struct decoder *decoder);

/* Of the current epoch, into @frames; -EBADMSG when it is not there. */
int definitions_frames(const struct definitions *d, uint32_t id, struct record_frame *frames,
		       struct record_stack *ret);

/* Replace what @rec refers to and is not here. Which stand-ins it needs, by enum damaged_part. */
unsigned definitions_check(const struct definitions *d, struct record *rec,
			   struct decoder *decoder);
/* The definition of one stand-in. */
struct record definitions_damaged(enum damaged_part part);

/* "[damaged]" for what is not here; NUL-terminated. */
struct span definitions_text(const struct definitions *d, uint32_t id);
