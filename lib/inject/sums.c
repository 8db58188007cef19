/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/sums.h"

#include <string.h>

/* A power of two; a large program is hit at some ten thousand places in 100 ms. 3 MB, of which only what
 * is used is there. */
#define SLOTS    (1u << 16)
#define SUMS_MAX (SLOTS / 4 * 3)

struct sum {
	struct sums_key key;
	uint32_t count; /* 0: free */
	uint32_t padding;
};

static struct sum sums[SLOTS];
static uint32_t used[SUMS_MAX]; /* slots, so that few are told as fast as few were added */
static size_t used_count;

static uint32_t slot_of(const struct sums_key *key)
{
	uint64_t word[4], hash = 0;

	_Static_assert(sizeof(word) == sizeof(*key), "no padding");
	memcpy(word, key, sizeof(word));
	/* Each step is one of splitmix64's: all bits reach all bits. */
	for (size_t i = 0; i < 4; i++) {
		hash = (hash ^ word[i]) * 0xbf58476d1ce4e5b9u;
		hash ^= hash >> 29;
	}
	return (uint32_t)hash & (SLOTS - 1);
}

int sums_add(const struct sums_key *key, uint32_t count)
{
	uint32_t slot = slot_of(key);

	if (count == 0)
		return 0;
	while (sums[slot].count && memcmp(&sums[slot].key, key, sizeof(*key)) != 0)
		slot = (slot + 1) & (SLOTS - 1);
	if (sums[slot].count) {
		if (count > UINT32_MAX - sums[slot].count)
			return -1;
		sums[slot].count += count;
		return 0;
	}
	if (used_count == SUMS_MAX)
		return -1;
	used[used_count++] = slot;
	sums[slot].key = *key;
	sums[slot].count = count;
	return 0;
}

void sums_tell(void (*tell)(void *data, const struct sums_key *key, uint32_t count), void *data)
{
	for (size_t i = 0; i < used_count; i++) {
		struct sum *sum = &sums[used[i]];
		tell(data, &sum->key, sum->count);
		sum->count = 0;
	}
	used_count = 0;
}
