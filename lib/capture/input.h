/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor read front to back through a buffer, never seeking, with the position known. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct input {
	int fd;
	uint8_t *data;
	size_t cap, start, end; /* unread bytes are data[start..end) */
	uint64_t offset;        /* of data[start], from where reading began */
	int at_end;
};

/* @cap: the most that will be wanted at once. 0 or -ENOMEM. */
int input_init(struct input *in, int fd, size_t cap);
void input_release(struct input *in);
/* Try to have @want unread bytes: how many there are, fewer only at the end; negative errno. */
int64_t input_need(struct input *in, size_t want);
static inline const uint8_t *input_at(const struct input *in)
{
	return in->data + in->start;
}
void input_skip(struct input *in, size_t size);
/* Skip to the next place at which @mark stands, or to the end: 1, 0, or negative. */
int input_find(struct input *in, const uint8_t *mark, size_t mark_size);
