/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work of a graph has two origins: the call that launches the graph, and, below "[graph replay]", the
 * one that was recorded into it, from where its stack leaves that of the first.
 */
#include "analyze/tables.h"

#include <errno.h>

/* The frames of @row, root first, appended to @list. */
static int stack_frames(const struct analysis *a, uint32_t row, struct frame_list *list)
{
	size_t first = list->len;

	for (uint32_t n = a->stacks.data[row].leaf; n; n = pairtab_get(&a->stack_nodes, n).first) {
		if (vec_push(list, pairtab_get(&a->stack_nodes, n).second) < 0)
			return -ENOMEM;
	}
	for (size_t i = first, k = list->len; i + 1 < k; i++, k--) {
		uint32_t swap = list->data[i];
		list->data[i] = list->data[k - 1];
		list->data[k - 1] = swap;
	}
	return 0;
}

static int join_stacks(struct analysis *a, uint32_t launch, uint32_t capture, uint32_t *ret)
{
	const struct stack *own = &a->stacks.data[launch];
	struct stack stack = { .leaf = own->leaf, .count = own->count, .flags = own->flags };
	struct frame_list above = { 0 }, below = { 0 };
	uint32_t replay;
	size_t shared = 0;
	int rc =
		analysis_frame_intern(a, (struct frame_ref){ .object = a->replay_object }, &replay);

	if (rc >= 0)
		rc = stack_frames(a, launch, &above);
	if (rc >= 0)
		rc = stack_frames(a, capture, &below);
	while (rc >= 0 && shared < above.len && shared < below.len &&
	       above.data[shared] == below.data[shared])
		shared++;
	if (rc >= 0)
		rc = pairtab_intern(&a->stack_nodes, stack.leaf, replay, &stack.leaf);
	for (stack.count++; rc >= 0 && shared < below.len; shared++, stack.count++)
		rc = pairtab_intern(&a->stack_nodes, stack.leaf, below.data[shared], &stack.leaf);
	vec_release(&above);
	vec_release(&below);
	return rc < 0 ? -ENOMEM : analysis_stack_intern(a, &stack, ret);
}

int analysis_replayed_site(struct analysis *a, uint32_t site, uint32_t capture, uint32_t *ret)
{
	uint64_t key = hash_pair(site, capture), *known = hash_get(&a->replays, key);
	struct site s = a->sites.data[site];
	const struct site *recorded = &a->sites.data[a->captures.data[capture - 1].site];

	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	*ret = site;
	if (s.kind == SITE_STACK && recorded->kind == SITE_STACK && a->replay_object &&
	    (join_stacks(a, s.stack, recorded->stack, &s.stack) < 0 ||
	     analysis_site(a, &s, ret) < 0))
		return -ENOMEM;
	return hash_set(&a->replays, key, *ret);
}
