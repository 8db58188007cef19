/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor read front to back through a buffer, never seeking, with the position known. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct stream {
	int fd;
	uint8_t *data;
	size_t cap, start, end; /* unread bytes are data[start..end) */
	uint64_t offset;        /* of data[start], from where reading began */
	int at_end;
};

/* @cap: the most that will be wanted at once. 0 or -ENOMEM. */
int stream_init(struct stream *in, int fd, size_t cap);
void stream_release(struct stream *in);
/* Try to have @want unread bytes: how many there are, fewer only at the end; negative errno. */
int64_t stream_need(struct stream *in, size_t want);
static inline const uint8_t *stream_at(const struct stream *in)
{
	return in->data + in->start;
}
void stream_skip(struct stream *in, size_t size);
/* Skip to the next place at which @mark stands, or to the end: 1, 0, or negative. */
int stream_find(struct stream *in, const uint8_t *mark, size_t mark_size);
