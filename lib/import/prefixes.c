/* SPDX-License-Identifier: Apache-2.0 */
#include "import/prefixes.h"

#include "base/cleanup.h"
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS (1u << 16)
/* Shorter ones are looked up as fast; longer ones would make the table large. */
#define SIZE_MIN   32u
#define SIZE_LIMIT (4u << 10)
/* How many frames from the leaf beginnings are looked for: below an accelerator kernel there are a
 * source line, an instruction and a stall reason or two. */
#define TRIES 8

void prefixes_release(struct prefixes *p)
{
	for (size_t i = 0; p->slots && i < SLOTS; i++)
		free(p->slots[i].text);
	free(p->slots);
	free(p->tags);
	*p = (struct prefixes){ 0 };
}

static uint32_t tag_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32);
}

/* Of a few places: the bytes are compared anyway. */
static uint64_t prefix_hash(const uint8_t *text, size_t size)
{
	uint64_t h = size;
	for (size_t i = 0; i < 8; i++) {
		uint64_t word;
		memcpy(&word, text + (size - sizeof(word)) * i / 7, sizeof(word));
		h = (h ^ word) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return h;
}

size_t prefixes_find(const struct prefixes *p, struct span stack, struct prefix *ret)
{
	const uint8_t *end = stack.data + stack.size;

	for (int i = 0; p->slots && i < TRIES; i++) {
		end = memrchr(stack.data, ';', (size_t)(end - stack.data));
		size_t size = end ? (size_t)(end + 1 - stack.data) : 0;
		if (size < SIZE_MIN)
			return 0;
		uint64_t hash = prefix_hash(stack.data, size);
		struct prefix_slot *slot = &p->slots[hash % SLOTS];
		if (p->tags[hash % SLOTS] != tag_of(hash) || slot->hash != hash ||
		    slot->size != size || memcmp(slot->text, stack.data, size) != 0)
			continue;
		slot->uses += slot->uses < UINT32_MAX;
		*ret = slot->prefix;
		return size;
	}
	return 0;
}

int prefixes_keep(struct prefixes *p, struct span text, const struct prefix *prefix)
{
	if (text.size < SIZE_MIN || text.size > SIZE_LIMIT)
		return 0;
	if (!p->slots) {
		p->slots = calloc(SLOTS, sizeof(*p->slots));
		p->tags = calloc(SLOTS, sizeof(*p->tags));
	}
	if (!p->slots || !p->tags)
		return -ENOMEM;
	uint64_t hash = prefix_hash(text.data, text.size);
	struct prefix_slot *slot = &p->slots[hash % SLOTS];
	/* What is used again and again stays; the many that come once do not drive it out. */
	if (slot->text && slot->uses) {
		slot->uses--;
		return 0;
	}
	char *copy = malloc(text.size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text.data, text.size);
	free(slot->text);
	p->tags[hash % SLOTS] = tag_of(hash);
	*slot = (struct prefix_slot){ hash, copy, (uint32_t)text.size, 0, *prefix };
	return 0;
}
