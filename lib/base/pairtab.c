/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pairtab.h"

#include "base/hash.h"

#include <assert.h>
#include <errno.h>

void pairtab_release(struct pairtab *t)
{
	vec_release(&t->pairs);
	slots_release(&t->slots);
}

static uint64_t hash_of(uint32_t first, uint32_t second)
{
	return hash_u64(hash_pair(first, second));
}

static int grow(struct pairtab *t)
{
	if (slots_grow(&t->slots) < 0)
		return -ENOMEM;
	for (uint32_t id = 1; id < t->pairs.len; id++) {
		const struct pair *p = &t->pairs.data[id];
		if (p->first + 1 != id)
			slots_add(&t->slots, hash_of(p->first, p->second), id);
	}
	return 0;
}

static bool is_pair(const struct pairtab *t, uint32_t id, uint32_t first, uint32_t second)
{
	return t->pairs.data[id].first == first && t->pairs.data[id].second == second;
}

int pairtab_intern(struct pairtab *t, uint32_t first, uint32_t second, uint32_t *ret)
{
	struct slots_probe at = { 0 };
	uint32_t id;

	if (!t->pairs.len && vec_push(&t->pairs, (struct pair){ 0, 0 }) < 0)
		return -ENOMEM;
	assert(first < t->pairs.len);
	bool is_next = first + 1 == t->pairs.len;
	if (!is_next) {
		if (is_pair(t, first + 1, first, second)) {
			*ret = first + 1;
			return 0;
		}
		if (slots_are_full(&t->slots) && grow(t) < 0)
			return -ENOMEM;
		at = slots_probe(&t->slots, hash_of(first, second));
		while (slots_next(&t->slots, &at, &id)) {
			if (is_pair(t, id, first, second)) {
				*ret = id;
				return 0;
			}
		}
	}
	if (t->pairs.len > UINT32_MAX || vec_push(&t->pairs, (struct pair){ first, second }) < 0)
		return -ENOMEM;
	*ret = (uint32_t)t->pairs.len - 1;
	if (!is_next)
		slots_put(&t->slots, &at, *ret);
	return 1;
}
