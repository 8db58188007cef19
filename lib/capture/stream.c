/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/stream.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int stream_init(struct stream *in, int fd, size_t cap)
{
	*in = (struct stream){ .fd = fd, .cap = cap };
	in->data = malloc(cap);
	return in->data ? 0 : -ENOMEM;
}

void stream_release(struct stream *in)
{
	free(in->data);
	*in = (struct stream){ .fd = -1 };
}

int64_t stream_need(struct stream *in, size_t want)
{
	assert(want <= in->cap);
	if (in->end - in->start < want && in->cap - in->start < want) {
		memmove(in->data, in->data + in->start, in->end - in->start);
		in->end -= in->start;
		in->start = 0;
	}
	while (in->end - in->start < want && !in->at_end) {
		ssize_t n = read(in->fd, in->data + in->end, in->cap - in->end);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		in->at_end = n == 0;
		in->end += (size_t)n;
	}
	return (int64_t)(in->end - in->start);
}

void stream_skip(struct stream *in, size_t size)
{
	assert(size <= in->end - in->start);
	in->start += size;
	in->offset += size;
	if (in->start == in->end)
		in->start = in->end = 0;
}

int stream_find(struct stream *in, const uint8_t *mark, size_t mark_size)
{
	for (;;) {
		int64_t got = stream_need(in, mark_size);
		if (got < 0)
			return (int)got;
		const uint8_t *found = memmem(stream_at(in), (size_t)got, mark, mark_size);
		if (found) {
			stream_skip(in, (size_t)(found - stream_at(in)));
			return 1;
		}
		if ((size_t)got < mark_size) {
			stream_skip(in, (size_t)got);
			return 0;
		}
		/* The mark may have begun in the last bytes of what is here. */
		stream_skip(in, (size_t)got - (mark_size - 1));
	}
}
