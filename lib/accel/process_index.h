/* SPDX-License-Identifier: Apache-2.0 */
/* What a runtime keeps of each process, by the process's number in the capture. Does not know what that is. */
#pragma once

#include "base/hash.h"

/* All-zero is an empty one. process_index_for_each() gives the states. */
struct process_index {
	struct hash hash; /* process -> pointer */
};

/* NULL: not there. States stay where they are. */
void *process_index_get(const struct process_index *x, uint32_t process);
/* A state of @size zeroed bytes for a process that has none; NULL: no memory. */
void *process_index_add(struct process_index *x, uint32_t process, size_t size);
/* Out of the index, for the caller to free; NULL: not there. */
void *process_index_take(struct process_index *x, uint32_t process);
/* With @free_state for each. */
void process_index_release(struct process_index *x, void (*free_state)(void *state));

/* In no particular order; the index must not change meanwhile. */
#define process_index_for_each(x, type, it)  \
	hash_for_each(&(x)->hash, it##_slot) \
		for (type *it = (type *)(uintptr_t)it##_slot->value; it; it = NULL)
