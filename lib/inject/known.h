/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles, what each belongs to, and which recorder was told of it. Looking one up takes no lock and no memory, and is
 * what a launch costs; changes are made by one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A power of two. Large programs have some ten thousand kernels; what comes beyond is told when it is made, and not
 * again to a later recorder. */
#define KNOWN_SLOTS (1u << 16)

struct known_slot {
	void *handle;
	void *owner;
	uint32_t session; /* of whom was told; 0: nobody */
	bool is_live;
};

struct known {
	struct known_slot slots[KNOWN_SLOTS];
	uint32_t count;
};

/* NULL: it is not there. */
static inline struct known_slot *known_find(struct known *k, void *handle)
{
	uint64_t hash = (uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15;

	for (uint32_t i = (uint32_t)(hash >> 48);; i++) {
		struct known_slot *slot = &k->slots[i & (KNOWN_SLOTS - 1)];
		void *there = __atomic_load_n(&slot->handle, __ATOMIC_ACQUIRE);
		if (there == handle)
			return slot;
		if (!there)
			return NULL;
	}
}

/* The slot of a handle that is there from now on, with nobody told; NULL: no room. */
static inline struct known_slot *known_add(struct known *k, void *handle, void *owner)
{
	struct known_slot *slot = known_find(k, handle);
	uint64_t hash = (uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15;

	if (!handle || (!slot && k->count >= KNOWN_SLOTS / 2))
		return NULL;
	for (uint32_t i = (uint32_t)(hash >> 48); !slot; i++)
		if (!k->slots[i & (KNOWN_SLOTS - 1)].handle)
			slot = &k->slots[i & (KNOWN_SLOTS - 1)];
	k->count += !slot->handle;
	slot->owner = owner;
	slot->is_live = true;
	__atomic_store_n(&slot->session, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->handle, handle, __ATOMIC_RELEASE);
	return slot;
}

/* It is gone; another may come to have its handle. */
static inline void known_forget(struct known *k, void *handle)
{
	struct known_slot *slot = known_find(k, handle);

	if (!slot)
		return;
	slot->is_live = false;
	slot->owner = NULL;
	__atomic_store_n(&slot->session, 0, __ATOMIC_RELAXED);
}

/* Nobody was told of it. */
static inline void known_renew(struct known *k, void *handle)
{
	struct known_slot *slot = known_find(k, handle);

	if (slot)
		__atomic_store_n(&slot->session, 0, __ATOMIC_RELAXED);
}

static inline uint32_t known_session(struct known *k, void *handle)
{
	struct known_slot *slot = known_find(k, handle);

	return slot ? __atomic_load_n(&slot->session, __ATOMIC_RELAXED) : 0;
}

/* The next one from *@at on that is there and that the recorder of @session was not told of; NULL: no more. */
static inline struct known_slot *known_untold(struct known *k, uint32_t session, uint32_t *at)
{
	while (k->count && *at < KNOWN_SLOTS) {
		struct known_slot *slot = &k->slots[(*at)++];
		if (slot->is_live && slot->session != session)
			return slot;
	}
	return NULL;
}
