/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_u32(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

int profile_frame_compare(const struct frame *a, const struct frame *b)
{
	int rc = strcmp(a->name, b->name);
	if (!rc)
		rc = compare_u32(a->kind, b->kind);
	if (!rc)
		rc = strcmp(a->file, b->file);
	if (!rc)
		rc = compare_u32(a->line, b->line);
	if (!rc)
		rc = strcmp(a->module, b->module);
	if (!rc)
		rc = strcmp(a->full, b->full);
	rc = rc ? rc : compare_u32(a->class, b->class);
	return rc ? rc : compare_u32(a->is_inlined, b->is_inlined);
}

static int frame_compare_ids(const void *a, const void *b, void *profile)
{
	struct frame x = profile_frame_get(profile, *(const uint32_t *)a);
	struct frame y = profile_frame_get(profile, *(const uint32_t *)b);
	return profile_frame_compare(&x, &y);
}

int profile_frame_order(const struct profile *p, uint32_t **ret)
{
	uint32_t count = profile_frame_count(p);
	uint32_t *order = malloc(count * sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), frame_compare_ids, (void *)p);
	*ret = order;
	return 0;
}

/*
 * Children by the order of their frames, in time linear in the nodes: a counting sort of all nodes
 * by the place of their frame, then, from the last one on, each becomes its parent's first child.
 */
static int children_order(struct profile *p)
{
	uint32_t frames = profile_frame_count(p);
	size_t nodes = p->nodes.len;
	CLEANUP_FREE uint32_t *order = NULL;
	CLEANUP_FREE uint32_t *start = calloc((size_t)frames + 1, sizeof(*start));
	CLEANUP_FREE uint32_t *sorted = malloc(nodes * sizeof(*sorted));
	if (!start || !sorted || profile_frame_order(p, &order) < 0)
		return -ENOMEM;

	for (size_t i = 0; i < nodes; i++) {
		start[p->nodes.data[i].frame]++;
		p->nodes.data[i].first_child = PROFILE_NONE;
		p->nodes.data[i].next = PROFILE_NONE;
	}
	for (uint32_t i = 0, at = 0; i < frames; i++) {
		uint32_t count = start[order[i]];
		start[order[i]] = at;
		at += count;
	}
	for (uint32_t i = 0; i < nodes; i++)
		sorted[start[p->nodes.data[i].frame]++] = i;

	for (size_t i = nodes; i-- > 0;) {
		struct profile_node *n = &p->nodes.data[sorted[i]];
		if (n->parent == PROFILE_NONE)
			continue;
		struct profile_node *parent = &p->nodes.data[n->parent];
		n->next = parent->first_child;
		parent->first_child = sorted[i];
	}
	return 0;
}

int profile_finish(struct profile *p)
{
	if (p->failed || children_order(p) < 0)
		return -ENOMEM;

	for (int i = 0; i < p->metric_count; i++) {
		struct metric *m = &p->metrics[i];
		if (!m->self)
			continue;
		if (metric_reserve(p, m) < 0)
			return -ENOMEM;
		memcpy(m->total, m->self, p->nodes.len * sizeof(*m->total));
		/* A child is always made after its parent. */
		for (size_t node = p->nodes.len; node-- > 1;) {
			uint64_t *above = &m->total[p->nodes.data[node].parent];
			if (__builtin_add_overflow(*above, m->total[node], above))
				*above = UINT64_MAX;
		}
	}
	return 0;
}
