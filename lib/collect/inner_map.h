/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BPF maps that are put into arrays of maps: made, mapped into our memory, and put in place without
 * waiting. Knows nothing of what is in them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A BPF array of @count values of @size bytes, mapped into our memory; its descriptor, or a negative
 * errno. */
int inner_map_create(const char *name, uint32_t size, uint32_t count, void **ret_memory,
		     size_t *ret_bytes);

/*
 * The kernel puts a map in place at once, and then keeps who asked for it until no program can still
 * use what was there before: 10 ms and more, in which new mappings would go unseen. So a thread asks,
 * and is left waiting when the map is there.
 */
struct inner_update;
#define INNER_UPDATES_MAX 8
struct inner_updates {
	struct inner_update *running[INNER_UPDATES_MAX];
};

/* Put maps @fds under @numbers of the array of maps @outer. They are in place when it returns. */
int inner_update(struct inner_updates *u, int outer, const uint32_t *numbers, const int *fds,
		 size_t count);
/* Wait for threads that are left. */
void inner_updates_release(struct inner_updates *u);
