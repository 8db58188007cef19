/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pairtab.h"

#include "base/hash.h"

#include <errno.h>

/* At most 3/4 full, so that a probe ends soon. */
#define SLOTS_FULL(len, cap) ((len)*4 > (cap)*3)

void pairtab_release(struct pairtab *t)
{
	vec_release(&t->pairs);
	free(t->slots);
	*t = (struct pairtab){ 0 };
}

static size_t slot_home(const struct pairtab *t, uint32_t first, uint32_t second)
{
	return hash_u64(hash_pair(first, second)) & (t->slots_cap - 1);
}

static int slots_grow(struct pairtab *t)
{
	size_t cap = t->slots_cap ? t->slots_cap * 2 : 64;
	uint32_t *slots = calloc(cap, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(t->slots);
	t->slots = slots;
	t->slots_cap = cap;

	for (uint32_t id = 1; id < t->pairs.len; id++) {
		size_t i = slot_home(t, t->pairs.data[id].first, t->pairs.data[id].second);
		while (slots[i])
			i = (i + 1) & (cap - 1);
		slots[i] = id;
	}
	return 0;
}

int pairtab_intern(struct pairtab *t, uint32_t first, uint32_t second, uint32_t *ret)
{
	if (!t->pairs.len && vec_push(&t->pairs, (struct pair){ 0, 0 }) < 0)
		return -ENOMEM;
	if (SLOTS_FULL(t->pairs.len + 1, t->slots_cap) && slots_grow(t) < 0)
		return -ENOMEM;

	size_t i = slot_home(t, first, second);
	for (; t->slots[i]; i = (i + 1) & (t->slots_cap - 1)) {
		const struct pair *p = &t->pairs.data[t->slots[i]];
		if (p->first == first && p->second == second) {
			*ret = t->slots[i];
			return 0;
		}
	}
	if (t->pairs.len > UINT32_MAX || vec_push(&t->pairs, (struct pair){ first, second }) < 0)
		return -ENOMEM;
	*ret = t->slots[i] = (uint32_t)t->pairs.len - 1;
	return 1;
}
