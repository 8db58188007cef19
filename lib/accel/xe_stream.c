/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/xe_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* EIO comes once for each loss. A descriptor that gives nothing else is broken. */
#define LOSSES_IN_A_ROW_MAX 16

struct xe_stream {
	struct xe_stream_options options;
	struct xe_stalls *stalls;
	struct xe_stream_stats stats;
	uint8_t *buffer;
	size_t kept; /* bytes of a record of which the rest has not come, at the buffer's beginning */
};

int xe_stream_new(struct xe_stream **ret, const struct xe_stream_options *options)
{
	CLEANUP(xe_stream_free) struct xe_stream *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->options = *options;
	if (!s->options.read)
		s->options.read = read;
	s->buffer = malloc(XE_RECORD_BYTES + XE_READ_BYTES);
	if (!s->buffer)
		return -ENOMEM;
	int rc = xe_stalls_new(&s->stalls, options->layout);
	if (rc < 0)
		return rc;
	*ret = TAKE(s);
	return 0;
}

void xe_stream_free(struct xe_stream *s)
{
	if (!s)
		return;
	xe_stalls_free(s->stalls);
	free(s->buffer);
	free(s);
}

/* The kernel gives whole records; pipes and sockets, which replay them, need not. */
static int take(struct xe_stream *s, size_t size)
{
	size_t all = s->kept + size, whole = all / XE_RECORD_BYTES * XE_RECORD_BYTES;
	int rc = xe_stalls_add(s->stalls, span_of(s->buffer, whole));

	s->kept = all - whole;
	memmove(s->buffer, s->buffer + whole, s->kept);
	s->stats.bytes += size;
	s->stats.reads++;
	return rc;
}

static void cut(struct xe_stream *s)
{
	s->stats.cut_bytes += s->kept;
	s->kept = 0;
}

int xe_stream_drain(struct xe_stream *s)
{
	unsigned losses = 0;

	for (uint64_t begin = s->stats.bytes; s->stats.bytes - begin < XE_DRAIN_BYTES;) {
		ssize_t n = s->options.read(s->options.fd, s->buffer + s->kept, XE_READ_BYTES);
		if (n > 0) {
			int rc = take(s, (size_t)n);
			if (rc < 0)
				return rc;
			losses = 0;
			continue;
		}
		int error = n < 0 ? errno : 0;
		if (error == EINTR)
			continue;
		if (error == EAGAIN)
			return 0;
		/* Records were dropped; the next read gives what is there. */
		if (error == EIO && ++losses <= LOSSES_IN_A_ROW_MAX) {
			s->stats.losses++;
			continue;
		}
		cut(s);
		return error ? -error : -ENODATA;
	}
	return 1;
}

struct xe_stalls *xe_stream_stalls(struct xe_stream *s)
{
	return s->stalls;
}

struct xe_stream_stats xe_stream_stats(const struct xe_stream *s)
{
	return s->stats;
}
