/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of numbers as dense numbers: equal pairs get equal ones. With a parent's number first it is
 * a tree whose children are found in constant time. Ten million are ordinary: 8 bytes each, and 5 to
 * 11 to find it.
 */
#pragma once

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct pair {
	uint32_t first, second;
};

/* All-zero is an empty one. Number 0 is that of no pair: a tree's root. */
struct pairtab {
	VEC(struct pair) pairs;
	uint32_t *slots; /* numbers; 0 is free */
	size_t slots_cap;
};

void pairtab_release(struct pairtab *t);
/* 1 when the pair is new, 0 when it was known, or -ENOMEM. */
int pairtab_intern(struct pairtab *t, uint32_t first, uint32_t second, uint32_t *ret);
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
