/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stream of EU stall records, read from any descriptor: the kernel's, or what replays one. Says what was lost and
 * when the device is gone; what records mean is xe_stall.h's.
 */
#pragma once

#include "accel/xe_stall.h"

#include <stddef.h>
#include <sys/types.h>

struct xe_stream;

struct xe_stream_options {
	int fd; /* borrowed, O_NONBLOCK */
	enum xe_layout layout;
	/* As read(2); NULL: that. For what a file cannot do. */
	ssize_t (*read)(int fd, void *data, size_t size);
};

/* The kernel's whole buffer is 512 KiB a core; it fills in 7 ms at full rate, and what one read takes is free again. */
#define XE_READ_BYTES (2u << 20)
/* What one xe_stream_drain() takes at most, so that its caller sees other events. */
#define XE_DRAIN_BYTES (64u << 20)

int xe_stream_new(struct xe_stream **ret, const struct xe_stream_options *options);
void xe_stream_free(struct xe_stream *s);
DEFINE_CLEANUP(xe_stream_free, struct xe_stream *)

/*
 * Read what is there. 1: there is more; 0: not now; -ENODATA: the end, as a file has one; -ENODEV: the device was
 * reset, and the stream must be closed and opened anew; other errors as read() has them.
 */
int xe_stream_drain(struct xe_stream *s);
/* What was read: to be flushed once an interval. Counts also what is left when the stream has ended. */
struct xe_stalls *xe_stream_stalls(struct xe_stream *s);

struct xe_stream_stats {
	uint64_t bytes, reads;
	uint64_t
		losses; /* times the kernel said that records were dropped; it does not say how many */
	uint64_t cut_bytes; /* of a record that the end, or a reset, cut off */
};
struct xe_stream_stats xe_stream_stats(const struct xe_stream *s);
