/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tree.h"

#include "base/hash.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(uint32_t parent, uint32_t frame)
{
	return hash_u64(hash_pair(parent, frame));
}

static int grow(struct profile *p)
{
	if (slots_grow(&p->slots) < 0)
		return -ENOMEM;
	for (uint32_t node = 1; node < p->nodes.len; node++) {
		const struct profile_node *n = &p->nodes.data[node];
		if (n->parent + 1 != node)
			slots_add(&p->slots, hash_of(n->parent, n->frame), node);
	}
	return 0;
}

static bool is_child(const struct profile *p, uint32_t node, uint32_t parent, uint32_t frame)
{
	return p->nodes.data[node].parent == parent && p->nodes.data[node].frame == frame;
}

/* A known child: 1; else 0 and where it would go in the index. */
static int child_find(struct profile *p, uint32_t parent, uint32_t frame, uint32_t *ret,
		      struct slots_probe *ret_at)
{
	uint32_t node;

	if (is_child(p, parent + 1, parent, frame)) {
		*ret = parent + 1;
		return 1;
	}
	if (slots_are_full(&p->slots) && grow(p) < 0)
		return -ENOMEM;
	*ret_at = slots_probe(&p->slots, hash_of(parent, frame));
	while (slots_next(&p->slots, ret_at, &node)) {
		if (is_child(p, node, parent, frame)) {
			*ret = node;
			return 1;
		}
	}
	return 0;
}

int profile_child(struct profile *p, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	uint32_t node = (uint32_t)p->nodes.len;
	struct slots_probe at = { 0 };

	assert(parent < node);
	/* A node that was made just now has no child, and the first that it gets at once is found
	 * by its number. */
	bool is_next = parent + 1 == node;
	int rc = is_next ? 0 : child_find(p, parent, frame, ret, &at);
	if (rc)
		return rc < 0 ? rc : 0;
	if (node == PROFILE_NONE ||
	    vec_push(&p->nodes, (struct profile_node){
					.frame = frame,
					.parent = parent,
					.first_child = PROFILE_NONE,
					.next = p->nodes.data[parent].first_child,
				}) < 0)
		return -ENOMEM;
	p->nodes.data[parent].first_child = node;
	if (!is_next)
		slots_put(&p->slots, &at, node);
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

int profile_add_path(struct profile *p, const uint32_t *frames, size_t count, int metric,
		     uint64_t value)
{
	uint32_t node = PROFILE_ROOT;
	for (size_t i = 0; i < count; i++) {
		if (profile_child(p, node, frames[i], &node) < 0)
			return -ENOMEM;
	}
	profile_add(p, node, metric, value);
	return 0;
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

const struct profile_node *profile_nodes(const struct profile *p)
{
	return p->nodes.data;
}

const uint64_t *profile_selves(const struct profile *p, int metric)
{
	assert(metric >= 0 && metric < p->metric_count);
	return p->metrics[metric].self;
}

const uint64_t *profile_totals(const struct profile *p, int metric)
{
	assert(metric >= 0 && metric < p->metric_count);
	return p->metrics[metric].total;
}
