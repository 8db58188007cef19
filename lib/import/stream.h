/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of an input, inflated when they are gzip (by their magic, whatever the name says). Knows
 * nothing of what they mean. Never seeks: pipes are fine.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

struct stream;

/* @path "-" is standard input. */
int stream_open(struct stream **ret, const char *path, struct err *err);
/* From memory that outlives the stream. */
int stream_open_memory(struct stream **ret, struct span bytes, struct err *err);
void stream_free(struct stream *s);
DEFINE_CLEANUP(stream_free, struct stream *)

/*
 * Up to @size bytes: the count, 0 at the end, negative on an error of the system. Compressed data
 * that is damaged or cut ends the stream; stream_damage() then says so.
 */
int64_t stream_read(struct stream *s, void *data, size_t size, struct err *err);
/* The first bytes, fewer than @want only when there are fewer; stream_read() gives them again. */
int stream_peek(struct stream *s, size_t want, struct span *ret, struct err *err);

/* Have @watch called with the bytes given out so far, now and then; for a sign of life. */
void stream_watch(struct stream *s, void (*watch)(void *data, uint64_t bytes), void *data);

/* One sentence part, "" when all is well. */
const char *stream_damage(const struct stream *s);
const char *stream_name(const struct stream *s);
