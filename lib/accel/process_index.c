/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/process_index.h"

#include <stdlib.h>

static void *state_of(uint64_t value)
{
	return (void *)(uintptr_t)value;
}

void *process_index_get(const struct process_index *x, uint32_t process)
{
	uint64_t *value = hash_get(&x->hash, process);

	return value ? state_of(*value) : NULL;
}

void *process_index_add(struct process_index *x, uint32_t process, size_t size)
{
	void *state = calloc(1, size);

	if (state && hash_set(&x->hash, process, (uintptr_t)state) < 0) {
		free(state);
		return NULL;
	}
	return state;
}

void *process_index_take(struct process_index *x, uint32_t process)
{
	void *state = process_index_get(x, process);

	if (state)
		hash_remove(&x->hash, process);
	return state;
}

void process_index_release(struct process_index *x, void (*free_state)(void *state))
{
	hash_for_each(&x->hash, it)
		free_state(state_of(it->value));
	hash_release(&x->hash);
}
