/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is given back all at once: bump allocation out of blocks. All-zero is an empty one. */
#pragma once

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *head;
	size_t used_bytes; /* handed out so far */
};

void arena_release(struct arena *a);
/* @size bytes, zeroed, aligned for any type; NULL when memory is out. */
void *arena_alloc(struct arena *a, size_t size);
/* A copy of @size bytes with a NUL behind them. */
char *arena_copy(struct arena *a, const void *data, size_t size);
