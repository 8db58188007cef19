/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/idmap.h"

#include <errno.h>

/* Gaps in the numbers cost at most this much more than the rows themselves. */
#define DENSE_FACTOR 4
#define DENSE_LEAST  4096

int idmap_set(struct idmap *m, uint32_t id, uint32_t row)
{
	m->count++;
	if (row == UINT32_MAX || id >= m->count * DENSE_FACTOR + DENSE_LEAST)
		return hash_set(&m->sparse, id, row);
	if (id >= m->dense.len) {
		size_t len = m->dense.len;
		if (vec_reserve(&m->dense, (size_t)id + 1) < 0)
			return -ENOMEM;
		m->dense.len = (size_t)id + 1;
		memset(m->dense.data + len, 0, (m->dense.len - len) * sizeof(*m->dense.data));
	}
	m->dense.data[id] = row + 1;
	return 0;
}
