/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the capture's numbers to rows. They are mostly given out one after the other, so that an
 * array will do; a number far beyond how many there are, which a stranger may have chosen, goes to
 * a hash table.
 */
#pragma once

#include "base/hash.h"
#include "base/vec.h"

/* All-zero is an empty one. */
struct idmap {
	VEC(uint32_t) dense; /* by number: row + 1, 0: none */
	struct hash sparse;
	size_t count;
};

static inline void idmap_release(struct idmap *m)
{
	vec_release(&m->dense);
	hash_release(&m->sparse);
}

static inline bool idmap_get(const struct idmap *m, uint32_t id, uint32_t *ret)
{
	if (id < m->dense.len && m->dense.data[id]) {
		*ret = m->dense.data[id] - 1;
		return true;
	}
	const uint64_t *row = m->sparse.len ? hash_get(&m->sparse, id) : NULL;
	if (row)
		*ret = (uint32_t)*row;
	return row;
}

/* 0 or -ENOMEM. */
__attribute__((warn_unused_result)) int idmap_set(struct idmap *m, uint32_t id, uint32_t row);
