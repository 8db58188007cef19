/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Large enough that the malloc behind it is rare, small enough that an unused rest is cheap. */
#define ARENA_BLOCK_BYTES (256u << 10)

struct arena_block {
	struct arena_block *next;
	size_t used, cap;
	alignas(max_align_t) uint8_t data[];
};

void arena_release(struct arena *a)
{
	for (struct arena_block *b = a->head, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	*a = (struct arena){ 0 };
}

void *arena_alloc(struct arena *a, size_t size)
{
	size_t align = alignof(max_align_t);
	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + align - 1) / align * align;

	struct arena_block *b = a->head;
	if (!b || b->cap - b->used < size) {
		size_t cap = size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;
		struct arena_block *fresh = malloc(sizeof(*fresh) + cap);
		if (!fresh)
			return NULL;
		*fresh = (struct arena_block){ .cap = cap };
		/* An outsized block goes behind the head, whose rest stays in use. */
		if (b && size > ARENA_BLOCK_BYTES) {
			fresh->next = b->next;
			b->next = fresh;
		} else {
			fresh->next = b;
			a->head = fresh;
		}
		b = fresh;
	}

	void *p = b->data + b->used;
	b->used += size;
	a->used_bytes += size;
	return memset(p, 0, size);
}

char *arena_copy(struct arena *a, const void *data, size_t size)
{
	char *p = arena_alloc(a, size + 1);
	if (p && size)
		memcpy(p, data, size);
	return p;
}
