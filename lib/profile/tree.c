/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tree.h"

#include "base/hash.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* At most 3/4 full: a probe ends soon, and a node costs 5 to 11 bytes of table. */
#define SLOTS_FULL(len, cap) ((len)*4 > (cap)*3)

static size_t slot_home(const struct profile *p, uint32_t parent, uint32_t frame)
{
	return hash_u64(hash_pair(parent, frame)) & (p->slots_cap - 1);
}

static int slots_grow(struct profile *p)
{
	size_t cap = p->slots_cap ? p->slots_cap * 2 : 1024;
	uint32_t *slots = calloc(cap, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(p->slots);
	p->slots = slots;
	p->slots_cap = cap;

	for (uint32_t node = 1; node < p->nodes.len; node++) {
		const struct profile_node *n = &p->nodes.data[node];
		size_t i = slot_home(p, n->parent, n->frame);
		while (slots[i])
			i = (i + 1) & (cap - 1);
		slots[i] = node + 1;
	}
	return 0;
}

int profile_child(struct profile *p, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	assert(parent < p->nodes.len);
	if (SLOTS_FULL(p->nodes.len + 1, p->slots_cap) && slots_grow(p) < 0)
		return -ENOMEM;

	size_t i = slot_home(p, parent, frame);
	for (; p->slots[i]; i = (i + 1) & (p->slots_cap - 1)) {
		const struct profile_node *n = &p->nodes.data[p->slots[i] - 1];
		if (n->parent == parent && n->frame == frame) {
			*ret = p->slots[i] - 1;
			return 0;
		}
	}

	uint32_t node = (uint32_t)p->nodes.len;
	if (node == PROFILE_NONE ||
	    vec_push(&p->nodes, (struct profile_node){
					.frame = frame,
					.parent = parent,
					.first_child = PROFILE_NONE,
					.next = p->nodes.data[parent].first_child,
				}) < 0)
		return -ENOMEM;
	p->nodes.data[parent].first_child = node;
	p->slots[i] = node + 1;
	*ret = node;
	return 0;
}

int metric_reserve(struct profile *p, struct metric *m)
{
	/* As many as there is room for nodes, so that the arrays grow as rarely as theirs. */
	size_t cap = p->nodes.cap;
	if (m->values_cap >= p->nodes.len)
		return 0;

	uint64_t *self = realloc(m->self, cap * sizeof(*self));
	if (!self)
		return -ENOMEM;
	m->self = self;
	uint64_t *total = realloc(m->total, cap * sizeof(*total));
	if (!total)
		return -ENOMEM;
	m->total = total;
	/* The totals are written by profile_finish(); until then their pages stay untouched. */
	memset(self + m->values_cap, 0, (cap - m->values_cap) * sizeof(*self));
	m->values_cap = (uint32_t)cap;
	return 0;
}

void profile_add(struct profile *p, uint32_t node, int metric, uint64_t value)
{
	struct metric *m = &p->metrics[metric];

	assert(metric >= 0 && metric < p->metric_count && node < p->nodes.len);
	if (!value)
		return;
	if (node >= m->values_cap && metric_reserve(p, m) < 0) {
		p->failed = true;
		return;
	}
	/* A hostile capture must not make a parent smaller than its child. */
	if (__builtin_add_overflow(m->self[node], value, &m->self[node]))
		m->self[node] = UINT64_MAX;
}

uint32_t profile_node_count(const struct profile *p)
{
	return (uint32_t)p->nodes.len;
}

struct profile_node profile_node(const struct profile *p, uint32_t node)
{
	assert(node < p->nodes.len);
	return p->nodes.data[node];
}

uint64_t profile_self(const struct profile *p, uint32_t node, int metric)
{
	assert(metric >= 0 && metric < p->metric_count);
	const struct metric *m = &p->metrics[metric];
	return node < m->values_cap ? m->self[node] : 0;
}

uint64_t profile_total(const struct profile *p, uint32_t node, int metric)
{
	assert(metric >= 0 && metric < p->metric_count);
	const struct metric *m = &p->metrics[metric];
	return node < m->values_cap ? m->total[node] : 0;
}
