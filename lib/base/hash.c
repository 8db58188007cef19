/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	SLOT_FREE,
	SLOT_DELETED,
	SLOT_TAKEN, /* or more: a key is looked at only where bits of its hash are the same */
};

static uint8_t slot_tag(uint64_t hash)
{
	return (uint8_t)(hash >> 56 | SLOT_TAKEN);
}

/* Eight bytes a step; not for tables of keys that could be chosen to collide on purpose. */
uint64_t hash_bytes(const void *data, size_t size)
{
	const uint8_t *p = data;
	uint64_t h = 0x9e3779b97f4a7c15ULL ^ size;

	for (; size >= 8; p += 8, size -= 8) {
		uint64_t word;
		memcpy(&word, p, 8);
		h = (h ^ word) * 0xff51afd7ed558ccdULL;
		h ^= h >> 32;
	}
	if (size) {
		uint64_t word = 0;
		memcpy(&word, p, size);
		h = (h ^ word) * 0xff51afd7ed558ccdULL;
	}
	return hash_u64(h);
}

/* The factor is as secret as what is multiplied, so that no difference of two words is sure to be undone by that of two
 * others. */
uint64_t hash_hostile(const void *data, size_t size)
{
	const uint8_t *p = data;
	uint64_t secret = hash_secret(), factor = hash_u64(secret) | 1, h = secret ^ size;

	for (; size >= 8; p += 8, size -= 8) {
		uint64_t word;
		memcpy(&word, p, 8);
		h = hash_fold(h ^ word, factor);
	}
	if (size) {
		uint64_t word = 0;
		memcpy(&word, p, size);
		h = hash_fold(h ^ word, factor);
	}
	return hash_u64(h);
}

void hash_release(struct hash *h)
{
	free(h->slots);
	free(h->used);
	*h = (struct hash){ 0 };
}

/* The slot that holds @key, else the one where it would go. The table is never full. */
static size_t hash_probe(const struct hash *h, uint64_t key)
{
	size_t mask = h->cap - 1;
	uint64_t hash = hash_u64(key);
	uint8_t tag = slot_tag(hash);
	size_t i = hash & mask;
	size_t reuse = SIZE_MAX;

	for (;; i = (i + 1) & mask) {
		if (h->used[i] == SLOT_FREE)
			return reuse != SIZE_MAX ? reuse : i;
		if (h->used[i] == tag && h->slots[i].key == key)
			return i;
		if (h->used[i] == SLOT_DELETED && reuse == SIZE_MAX)
			reuse = i;
	}
}

static int hash_resize(struct hash *h, size_t cap)
{
	struct hash fresh = {
		.slots = malloc(cap * sizeof(*fresh.slots)),
		.used = calloc(cap, 1),
		.cap = cap,
		.len = h->len,
	};
	if (!fresh.slots || !fresh.used) {
		hash_release(&fresh);
		return -ENOMEM;
	}

	hash_for_each(h, it) {
		size_t i = hash_probe(&fresh, it->key);
		fresh.slots[i] = *it;
		fresh.used[i] = slot_tag(hash_u64(it->key));
	}
	hash_release(h);
	*h = fresh;
	return 0;
}

uint64_t *hash_get(const struct hash *h, uint64_t key)
{
	if (!h->cap)
		return NULL;
	size_t i = hash_probe(h, key);
	return h->used[i] >= SLOT_TAKEN ? &h->slots[i].value : NULL;
}

int hash_set(struct hash *h, uint64_t key, uint64_t value)
{
	/* At most 3/4 of the slots are taken or deleted, so that a probe ends soon. */
	if ((h->len + h->tombs + 1) * 4 > h->cap * 3) {
		size_t cap = h->cap ? h->cap : 16;
		while ((h->len + 1) * 2 > cap)
			cap *= 2;
		if (hash_resize(h, cap) < 0)
			return -ENOMEM;
	}

	size_t i = hash_probe(h, key);
	if (h->used[i] < SLOT_TAKEN) {
		if (h->used[i] == SLOT_DELETED)
			h->tombs--;
		h->used[i] = slot_tag(hash_u64(key));
		h->slots[i].key = key;
		h->len++;
	}
	h->slots[i].value = value;
	return 0;
}

bool hash_remove(struct hash *h, uint64_t key)
{
	if (!h->cap)
		return false;
	size_t i = hash_probe(h, key);
	if (h->used[i] < SLOT_TAKEN)
		return false;
	h->used[i] = SLOT_DELETED;
	h->len--;
	h->tombs++;
	return true;
}

struct hash_slot *hash_next(const struct hash *h, size_t i)
{
	for (; i < h->cap; i++) {
		if (h->used[i] >= SLOT_TAKEN)
			return &h->slots[i];
	}
	return NULL;
}
