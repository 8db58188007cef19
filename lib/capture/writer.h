/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a capture (FORMAT.md). Knows framing, interning and files; not what a record means.
 *
 * The file appears under its final name only with capture_writer_commit(): until then it has no
 * name, or that of an O_EXCL temporary in the same folder, so that a recording that never starts
 * leaves an older file alone. What is flushed is readable whatever happens to the recorder afterwards.
 *
 * Every function returns 0 or a negative errno. A write error (full disk) sticks: it is returned by
 * this and all later calls, and what was written before stays readable.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "capture/record.h"

#include <stdbool.h>

struct capture_writer;

/* For what is read at once and thrown away. */
#define CAPTURE_LEVEL_STORED (-1)

struct capture_writer_options {
	const char *path; /* "-": standard output, which may be a pipe; NULL: use @fd */
	int fd;           /* borrowed; written from its current position */
	/* zlib's 1..9; 0: the default, which is 1: records are cheap to squeeze. */
	int level;
	/* For tests; 0: the sizes FORMAT.md tells. Bytes before compression. */
	uint32_t chunk_bytes;
	uint64_t epoch_bytes;
	/* How many frames in stacks an epoch has; 0: what a recorder has memory for. Where stacks need
	 * more, those of each epoch are written anew: CAPTURE_EPOCH_FRAMES_MAX (limits.h) is for who
	 * has a file to read and half a gigabyte. */
	uint32_t epoch_frames;
	/* What different strings may take in memory, for a recorder that strangers give names to; of
	 * more, each is CAPTURE_STRING_REST. 0: any. */
	uint64_t string_bytes_max;
};

#define CAPTURE_STRING_REST "[too many names]"

int capture_writer_open(struct capture_writer **ret, const struct capture_writer_options *opt,
			struct err *err);
/* Flushes; removes a temporary that was never committed. NULL is fine. */
void capture_writer_free(struct capture_writer *w);
DEFINE_CLEANUP(capture_writer_free, struct capture_writer *)

/*
 * Give the file its name. An older capture under that name becomes "<path>.old"; a file there that
 * is not a capture of ours is -EEXIST (before capture_writer_open() has created anything, too).
 * Nothing to do for a descriptor or a pipe.
 */
int capture_writer_commit(struct capture_writer *w, struct err *err);

/*
 * Numbers for what records refer to; equal input gives the same number for the writer's life. What
 * is longer than CAPTURE_STRING_MAX is cut, and says so at its end.
 */
#define CAPTURE_STRING_MAX (64u << 10)
int capture_writer_string(struct capture_writer *w, const char *text, uint32_t *ret);
int capture_writer_bytes(struct capture_writer *w, const void *data, size_t size, uint32_t *ret);
/* Interned by all fields but `id`, which is ignored. */
int capture_writer_object(struct capture_writer *w, const struct record_object *object,
			  uint32_t *ret);
/*
 * Leaf first. Of more than 4096 frames those at the leaf are kept, and the flags say so. Unlike the
 * others a stack's number may be forgotten 64 MiB of records later: use it at once.
 */
int capture_writer_stack(struct capture_writer *w, const struct record_frame *frames,
			 uint32_t count, uint32_t flags, uint32_t *ret);
/*
 * The same without a look at the whole: the stack's number is one of its own, even if there is an
 * equal one. Its `kept` root-most frames are those of `parent`, a number of this epoch or the one
 * before, or 0; `frames` are the `count - kept` others. @ret_known: how many frames from the root on
 * some other stack of this epoch has, too. -EINVAL for more than 4096 frames.
 */
int capture_writer_stack_like(struct capture_writer *w, const struct record_stack *stack,
			      uint32_t *ret, uint32_t *ret_known);

/* The number of a stack of the epoch before, made anew for this one; others stay. */
int capture_writer_stack_renew(struct capture_writer *w, uint32_t *stack);

/*
 * Append a record. Its type may be any but STRING, OBJECT and STACK, which the functions above
 * write. Definitions of the numbers it refers to are written before it when this part of the file
 * does not have them yet. -EINVAL for a number that was not given out, and after END; -E2BIG for a
 * record beyond 512 KiB: neither sticks.
 */
int capture_writer_put(struct capture_writer *w, const struct record *rec);
/* Asked before each record that is put: false leaves it out. */
typedef bool (*capture_want_fn)(void *data, const struct record *record);
void capture_writer_want(struct capture_writer *w, capture_want_fn fn, void *data);

/* A code object in as many CODE_OBJECT records as it takes; the part fields are ignored. */
int capture_writer_code_object(struct capture_writer *w, const struct record_code_object *object,
			       const void *data, size_t size);

/* Counts up when stacks' numbers are given out anew: while it stays, they can be used again. */
uint32_t capture_writer_epoch(const struct capture_writer *w);

/* Close the current chunk and hand it to the kernel; once a second while recording. */
int capture_writer_flush(struct capture_writer *w);

struct capture_writer_stats {
	uint64_t bytes;     /* written so far */
	uint64_t raw_bytes; /* before compression */
	uint64_t records;
	uint64_t device_samples; /* that PC_SAMPLE records stand for */
};
struct capture_writer_stats capture_writer_stats(const struct capture_writer *w);
/* The text of a write error, for the message; "" when there is none. */
const char *capture_writer_error(const struct capture_writer *w);
