/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table from one 64-bit key to one 64-bit value, with open addressing; and the hash
 * function for bytes. Keys that are more than 64 bits are interned first (strtab.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_slot {
	uint64_t key, value;
};

/* All-zero is an empty table. */
struct hash {
	struct hash_slot *slots;
	uint8_t *used; /* one byte a slot: 0 free, 1 deleted, else taken, and bits of the hash */
	size_t cap, len, tombs;
};

/* The finalizer of MurmurHash3 (public domain): every input bit reaches every output bit. */
static inline uint64_t hash_u64(uint64_t key)
{
	key ^= key >> 33;
	key *= 0xff51afd7ed558ccdULL;
	key ^= key >> 33;
	key *= 0xc4ceb9fe1a85ec53ULL;
	key ^= key >> 33;
	return key;
}
/* The same bytes have the same one, here and everywhere. */
uint64_t hash_bytes(const void *data, size_t size);

/* What nobody knows who makes a file: where this program lies in memory this time. */
static inline uint64_t hash_secret(void)
{
	return (uint64_t)(uintptr_t)&hash_bytes * 0x9e3779b97f4a7c15ULL;
}
static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}
/* For keys that strangers choose, who would choose them so that all come to lie in one place: differs from run to run. */
uint64_t hash_hostile(const void *data, size_t size);
static inline uint64_t hash_hostile_pair(uint64_t a, uint64_t b)
{
	uint64_t secret = hash_secret();

	return hash_u64(hash_fold(a ^ secret, secret ^ 0xff51afd7ed558ccdULL) + b);
}

/* A pair of 32-bit keys as one key. */
static inline uint64_t hash_pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

void hash_release(struct hash *h);
/* NULL when the key is not there. Valid until the next hash_set() or hash_remove(). */
uint64_t *hash_get(const struct hash *h, uint64_t key);
/* Insert or overwrite: 0 or -ENOMEM. */
__attribute__((warn_unused_result)) int hash_set(struct hash *h, uint64_t key, uint64_t value);
/* True when the key was there. */
bool hash_remove(struct hash *h, uint64_t key);

/* Next taken slot at or after @i, or NULL; for hash_for_each(). */
struct hash_slot *hash_next(const struct hash *h, size_t i);

/* In no particular order; the table must not change meanwhile. */
#define hash_for_each(h, it)                               \
	for (struct hash_slot *it = hash_next((h), 0); it; \
	     it = hash_next((h), (size_t)(it - (h)->slots) + 1))
