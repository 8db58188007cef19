/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strtab.h"

#include "base/hash.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void strtab_release(struct strtab *t)
{
	arena_release(&t->arena);
	vec_release(&t->strings);
	vec_release(&t->hashes);
	slots_release(&t->slots);
}

static int grow(struct strtab *t)
{
	if (slots_grow(&t->slots) < 0)
		return -ENOMEM;
	for (uint32_t id = 0; id < t->strings.len; id++)
		slots_add(&t->slots, t->hashes.data[id], id);
	return 0;
}

static int strtab_append(struct strtab *t, const struct slots_probe *at, uint64_t hash,
			 const void *data, size_t size)
{
	if (t->strings.len >= INT32_MAX)
		return -E2BIG;
	char *copy = arena_copy(&t->arena, data, size);
	if (!copy || vec_reserve(&t->hashes, t->strings.len + 1) < 0 ||
	    vec_push(&t->strings, span_of(copy, size)) < 0)
		return -ENOMEM;
	t->hashes.data[t->hashes.len++] = hash;
	slots_put(&t->slots, at, (uint32_t)t->strings.len - 1);
	return 0;
}

/* The empty string must be number 0, whatever is interned first. */
static int strtab_start(struct strtab *t)
{
	if (t->slots.cap)
		return 0;
	if (grow(t) < 0)
		return -ENOMEM;
	uint64_t hash = hash_hostile("", 0);
	struct slots_probe at = slots_probe(&t->slots, hash);
	return strtab_append(t, &at, hash, "", 0);
}

/* Where the search ends is in @at. */
static bool search(const struct strtab *t, struct slots_probe *at, const void *data, size_t size,
		   uint32_t *ret)
{
	uint32_t id;

	while (slots_next(&t->slots, at, &id)) {
		struct span s = t->strings.data[id];
		if (s.size == size && (!size || !memcmp(s.data, data, size))) {
			*ret = id;
			return true;
		}
	}
	return false;
}

int strtab_find(const struct strtab *t, const void *data, size_t size, uint32_t *ret)
{
	if (!t->slots.cap)
		return -ENOENT;
	struct slots_probe at = slots_probe(&t->slots, hash_hostile(data, size));
	return search(t, &at, data, size, ret) ? 0 : -ENOENT;
}

int strtab_intern(struct strtab *t, const void *data, size_t size, uint32_t *ret, bool *ret_fresh)
{
	int rc = strtab_start(t);
	if (rc < 0)
		return rc;
	if (slots_are_full(&t->slots) && grow(t) < 0)
		return -ENOMEM;

	uint64_t hash = hash_hostile(data, size);
	struct slots_probe at = slots_probe(&t->slots, hash);
	if (search(t, &at, data, size, ret)) {
		if (ret_fresh)
			*ret_fresh = false;
		return 0;
	}

	rc = strtab_append(t, &at, hash, data, size);
	if (rc < 0)
		return rc;
	*ret = (uint32_t)t->strings.len - 1;
	if (ret_fresh)
		*ret_fresh = true;
	return 0;
}

int strtab_add(struct strtab *t, const char *text, uint32_t *ret)
{
	return strtab_intern(t, text, strlen(text), ret, NULL);
}

struct span strtab_get(const struct strtab *t, uint32_t id)
{
	if (!id)
		return span_of("", 0);
	assert(id < t->strings.len);
	return t->strings.data[id];
}

const char *strtab_text(const struct strtab *t, uint32_t id)
{
	return (const char *)strtab_get(t, id).data;
}

uint32_t strtab_count(const struct strtab *t)
{
	return t->strings.len ? (uint32_t)t->strings.len : 1;
}
