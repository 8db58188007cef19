/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole chunks of a capture, one after the other, and an account of what lay between them. Does
 * not know what is inside a chunk.
 */
#pragma once

#include "base/err.h"
#include "capture/chunk.h"
#include "capture/reader.h"
#include "capture/stream.h"

#include <stdbool.h>
#include <zlib.h>

struct source {
	struct stream in;
	z_stream inflate;
	uint8_t *data; /* CHUNK_INFLATED_MAX: the chunk's content, of */
	size_t size;
	uint64_t offset; /* the chunk's, in the file */
	uint64_t stored_bytes;
	bool starts_epoch;
	uint64_t next_sequence;

	struct capture_damage damage; /* all but its text */
	bool is_skipping;             /* from @skip_offset on there is no chunk */
	bool skip_is_tail;            /* but what was there could have gone on behind the end */
	uint64_t skip_offset;
	bool is_cut;
	uint64_t cut_offset;
	uint64_t extra_offset, extra_bytes; /* behind the END record */
};

/* @err for what the first bytes say: see capture_reader_open(). Release it also on failure. */
int source_init(struct source *s, int fd, const char *name, struct err *err);
void source_release(struct source *s);
/* 1 and a chunk in @data, 0 at the end of the file, negative errno of read(). */
int source_next(struct source *s);
/* The END record was in this chunk: read what follows, which should be nothing. 0 or negative. */
int source_end(struct source *s);
/* The sentence for capture_damage.text, from what is known so far. */
void source_describe(const struct source *s, const char *name, struct capture_damage *ret);
