/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of a tree as dense numbers: the same child of the same node gets the same one. What a
 * child is is a number, too: that of a frame, say. Ten million are ordinary: 8 bytes each, and 7 to
 * 14 to find it, which the first child that a node gets at once does not need: it is the next number.
 * In paths that come one after the other those are most.
 */
#pragma once

#include "base/slots.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct pair {
	uint32_t first, second; /* the node above, which child of it this is */
};

/* All-zero is an empty one: a root, number 0. */
struct pairtab {
	VEC(struct pair) pairs;
	struct slots slots; /* of those that are not the number behind their parent's */
};

void pairtab_release(struct pairtab *t);
/* @first is 0 or a number that was given out. 1 when the child is new, 0 when it was known, or
 * -ENOMEM. */
int pairtab_intern(struct pairtab *t, uint32_t first, uint32_t second, uint32_t *ret);
/* A child of @first will be asked for soon: what takes longest then, its first one's memory, can come
 * meanwhile. */
static inline void pairtab_expect(const struct pairtab *t, uint32_t first)
{
	if (t->pairs.data)
		__builtin_prefetch(t->pairs.data + first + 1);
}
/* How many numbers there are, with 0. */
static inline uint32_t pairtab_count(const struct pairtab *t)
{
	return t->pairs.len ? (uint32_t)t->pairs.len : 1;
}
/* Of number 0: two zeros. */
static inline struct pair pairtab_get(const struct pairtab *t, uint32_t id)
{
	return id ? t->pairs.data[id] : (struct pair){ 0, 0 };
}
