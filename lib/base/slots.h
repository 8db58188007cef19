/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which number has a given hash: the index of a table that keeps its things itself (strtab.h,
 * pairtab.h, the nodes of a profile). Open addressing; beside each number stand eight bits of its
 * hash, since in a table of millions every look at a thing is a cache miss, and nearly all of those
 * at the wrong one are saved.
 *
 *	for (struct slots_probe p = slots_probe(s, hash); slots_next(s, &p, &number);)
 *		if (it is number) return number;
 *	slots_put(s, &p, number);	where the search ended
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All-zero is an empty one, which must be grown before it is searched. */
struct slots {
	uint32_t *numbers;
	uint8_t *tags; /* 0: free */
	size_t cap, len;
};

struct slots_probe {
	size_t at;
	uint8_t tag;
};

void slots_release(struct slots *s);
/* More room: 0 or -ENOMEM, and then nothing changed. All numbers have to be put in again. */
__attribute__((warn_unused_result)) int slots_grow(struct slots *s);

/* Whether there is no room for one more: at most 3/4 are taken, so that a search ends soon. */
static inline bool slots_are_full(const struct slots *s)
{
	return (s->len + 1) * 4 > s->cap * 3;
}

static inline struct slots_probe slots_probe(const struct slots *s, uint64_t hash)
{
	/* The place is from the low bits, the tag from the high ones. */
	return (struct slots_probe){ hash & (s->cap - 1), (uint8_t)(hash >> 56 | 1) };
}

/* The next number that may be it; false at a free place. */
static inline bool slots_next(const struct slots *s, struct slots_probe *p, uint32_t *ret)
{
	for (size_t at = p->at;; at = (at + 1) & (s->cap - 1)) {
		if (s->tags[at] == p->tag) {
			*ret = s->numbers[at];
			p->at = (at + 1) & (s->cap - 1);
			return true;
		}
		if (!s->tags[at]) {
			p->at = at;
			return false;
		}
	}
}

/* At the place where slots_next() ended. */
static inline void slots_put(struct slots *s, const struct slots_probe *p, uint32_t number)
{
	s->tags[p->at] = p->tag;
	s->numbers[p->at] = number;
	s->len++;
}

/* A number that is known to be new. */
static inline void slots_add(struct slots *s, uint64_t hash, uint32_t number)
{
	struct slots_probe p = slots_probe(s, hash);
	while (s->tags[p.at])
		p.at = (p.at + 1) & (s->cap - 1);
	slots_put(s, &p, number);
}
