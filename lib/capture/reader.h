/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a capture (FORMAT.md), from any descriptor, never seeking; hostile bytes are expected.
 *
 *	while ((rc = capture_reader_next(r, &rec, err)) > 0)
 *		...
 *
 * A damaged chunk does not end the reading: it is skipped and counted, see capture_reader_damage().
 * A file that simply stops ends with 0, and capture_reader_damage() then says that it has no END.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "base/span.h"
#include "capture/record.h"

#include <stdbool.h>

struct capture_reader;

/*
 * @path "-" is standard input. -EBADMSG: not a capture (so it may be something to import);
 * -EPROTONOSUPPORT: one of a newer format.
 */
int capture_reader_open(struct capture_reader **ret, const char *path, struct err *err);
/* The same from a descriptor, which stays the caller's; @name is for messages. */
int capture_reader_open_fd(struct capture_reader **ret, int fd, const char *name, struct err *err);
void capture_reader_free(struct capture_reader *r);
DEFINE_CLEANUP(capture_reader_free, struct capture_reader *)

/*
 * 1 and a record, 0 at the end, negative on a read error of the system. The record and what it
 * points to stay valid until the next call. STRING, OBJECT and STACK definitions are given out
 * too, the first time each is seen, always before a record that refers to them.
 * References to what damage took are replaced: strings by that of "[damaged]", objects by one of
 * kind OBJECT_MISSING of that name, stacks by one with that single frame.
 */
int capture_reader_next(struct capture_reader *r, struct record *ret, struct err *err);

/* The frames of a stack of the current epoch, as a STACK record gives them but into @frames, which
 * has room for STACK_FRAMES_MAX (limits.h). -EBADMSG: there is none of that number now. */
int capture_reader_stack(const struct capture_reader *r, uint32_t id, struct record_frame *frames,
			 struct record_stack *ret);

/*
 * For who keeps stacks as they come: from now on a STACK's `frames` are only those that are not its
 * parent's, `count - kept` of them, which spares putting the others together; `above` is the node
 * that they stand on, out of those that were given out since the epoch began.
 */
void capture_reader_leave_kept(struct capture_reader *r);

/* Called when everything has been read; what it fails with, reading fails with. For who knows
 * more than the file does of whether it is whole. */
void capture_reader_on_end(struct capture_reader *r, int (*on_end)(void *data, struct err *err),
			   void *data);

/* The text of a string number out of this reader's records; valid as long as the reader. */
struct span capture_reader_string(const struct capture_reader *r, uint32_t id);
const char *capture_reader_text(const struct capture_reader *r, uint32_t id);

struct capture_damage {
	uint64_t chunks;       /* damaged and skipped */
	uint64_t first_offset; /* of the first one, in the file */
	uint64_t skipped_bytes;
	uint64_t unknown_records; /* of types a newer version writes; skipped, no damage */
	bool has_end;             /* an END record was read */
	char text[512];           /* one sentence, "" when all is well */
};
/* Complete once capture_reader_next() has returned 0. */
struct capture_damage capture_reader_damage(const struct capture_reader *r);
/* File offset of the chunk that the last record came from. */
uint64_t capture_reader_offset(const struct capture_reader *r);
