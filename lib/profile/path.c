/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths come in their millions and share long beginnings: the same thirty host frames under many
 * instructions. A step from parent to child is two cache misses in a large tree, so the steps that
 * recent paths shared are skipped: the last path's, and those of beginnings that were found to be
 * shared before. Measured on a million stacks: a third of the time.
 */
#include "base/hash.h"
#include "profile/tree.h"

#include <errno.h>
#include <stdlib.h>

#define PREFIXES   (1u << 14) /* 256 KiB: stays in a core's second-level cache */
#define LENGTH_MIN 4          /* shorter ones save too little */
#define LENGTH_MAX 63         /* bits of path_cache.lengths */

void path_cache_release(struct path_cache *c)
{
	vec_release(&c->last);
	free(c->prefixes);
	*c = (struct path_cache){ 0 };
}

static uint64_t prefix_hash(uint64_t h, uint32_t frame)
{
	h = (h ^ frame) * 0xff51afd7ed558ccdull;
	return h ^ h >> 32;
}

/* Whether @node is the end of these @length frames: the hash only says where to look. */
static bool prefix_is(const struct profile *p, uint32_t node, const uint32_t *frames, size_t length)
{
	for (; length && node != PROFILE_ROOT; length--) {
		const struct profile_node *n = &p->nodes.data[node];
		if (n->frame != frames[length - 1])
			return false;
		node = n->parent;
	}
	return !length && node == PROFILE_ROOT;
}

/* Take the way to @node over as the beginning of the last path. */
static void prefix_take(struct profile *p, uint32_t node, const uint32_t *frames, size_t length)
{
	for (size_t i = length; i-- > 0; node = p->nodes.data[node].parent)
		p->paths.last.data[i] = (struct path_step){ frames[i], node };
}

/* The longest beginning of the path, longer than @same, that is kept, or NULL. */
static struct path_prefix *prefix_find(const struct profile *p, const uint32_t *frames,
				       const uint64_t *hashes, size_t same, size_t count)
{
	const struct path_cache *c = &p->paths;
	uint64_t lengths = c->lengths;

	if (count < LENGTH_MAX)
		lengths &= (2ull << count) - 1;
	while (lengths) {
		size_t length = 63 - (size_t)__builtin_clzll(lengths);
		if (length <= same)
			return NULL;
		struct path_prefix *x = &c->prefixes[hashes[length] % PREFIXES];
		if (x->length == length && x->hash == hashes[length] &&
		    prefix_is(p, x->node, frames, length))
			return x;
		lengths &= ~(1ull << length);
	}
	return NULL;
}

static int prefix_keep(struct path_cache *c, uint64_t hash, size_t length)
{
	if (!c->prefixes)
		c->prefixes = calloc(PREFIXES, sizeof(*c->prefixes));
	if (!c->prefixes)
		return -ENOMEM;
	/* The few that are used again and again stay; the many that come once do not drive them out. */
	struct path_prefix *x = &c->prefixes[hash % PREFIXES];
	if (x->uses) {
		x->uses--;
		return 0;
	}
	*x = (struct path_prefix){ hash, c->last.data[length - 1].node, (uint16_t)length, 0 };
	c->lengths |= 1ull << length;
	return 0;
}

int profile_add_path(struct profile *p, const uint32_t *frames, size_t count, int metric,
		     uint64_t value)
{
	struct path_cache *c = &p->paths;
	uint64_t hashes[LENGTH_MAX + 1] = { 0 };
	uint32_t before = profile_node_count(p);
	size_t known = 0, shared = count;

	while (known < count && known < c->last.len && c->last.data[known].frame == frames[known])
		known++;
	if (vec_reserve(&c->last, count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count && i < LENGTH_MAX; i++)
		hashes[i + 1] = prefix_hash(hashes[i], frames[i]);
	struct path_prefix *found = prefix_find(p, frames, hashes, known, count);
	if (found) {
		known = found->length;
		if (found->uses < UINT16_MAX)
			found->uses++;
		prefix_take(p, found->node, frames, known);
	}
	c->last.len = known;

	uint32_t node = known ? c->last.data[known - 1].node : PROFILE_ROOT;
	for (size_t i = known; i < count; i++) {
		if (profile_child(p, node, frames[i], &node) < 0)
			return -ENOMEM;
		if (node >= before && shared == count)
			shared = i;
		c->last.data[c->last.len++] = (struct path_step){ frames[i], node };
	}
	if (shared < count && shared >= LENGTH_MIN && shared <= LENGTH_MAX &&
	    prefix_keep(c, hashes[shared], shared) < 0)
		return -ENOMEM;
	profile_add(p, node, metric, value);
	return 0;
}
