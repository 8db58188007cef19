/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/stacks.h"

#include <assert.h>
#include <errno.h>

void stacks_release(struct stacks *t)
{
	vec_release(&t->entries);
	vec_release(&t->nodes);
	hash_release(&t->by_node);
	hash_release(&t->by_stack);
}

void stacks_retire(struct stacks *t)
{
	hash_release(&t->by_node);
	hash_release(&t->by_stack);
}

void stacks_restart(struct stacks *t, uint32_t first)
{
	stacks_retire(t);
	t->entries.len = t->nodes.len = 0;
	t->first = first;
}

const struct stack_entry *stacks_get(const struct stacks *t, uint32_t id)
{
	/* A number below the first one wraps to one that is far too large. */
	uint32_t i = id - t->first;
	return i < t->entries.len && t->entries.data[i].is_known ? &t->entries.data[i] : NULL;
}

void stacks_expand(const struct stacks *t, const struct stack_entry *entry, uint32_t count,
		   struct record_frame *ret)
{
	for (uint32_t n = entry->leaf; count; n = t->nodes.data[n].parent, count--)
		*ret++ = (struct record_frame){ .object = t->nodes.data[n].object,
						.offset = t->nodes.data[n].offset };
}

/* The node where the @kept root-most frames of a stack end. */
static uint32_t node_above(const struct stacks *t, const struct stack_entry *entry, uint32_t kept)
{
	uint32_t node = entry->leaf, up = entry->depth - kept;

	/* Mostly it is one that the stack brought, and those are numbered from the root on. */
	if (entry->fresh) {
		uint32_t fresh = entry->fresh, step = up < fresh ? up : fresh - 1;
		node -= step;
		up -= step;
	}
	for (; up; up--)
		node = t->nodes.data[node].parent;
	return node;
}

static int nodes_add(struct stacks *t, struct stack_node node, uint32_t *ret)
{
	if (!t->nodes.len && vec_push(&t->nodes, (struct stack_node){ 0 }) < 0)
		return -ENOMEM;
	node.depth = t->nodes.data[node.parent].depth + 1;
	if (vec_push(&t->nodes, node) < 0)
		return -ENOMEM;
	*ret = (uint32_t)t->nodes.len - 1;
	return 0;
}

/* ---- the writer's side ---- */

static uint64_t hash_frame(uint64_t h, const struct record_frame *frame)
{
	h = (h ^ frame->offset ^ (uint64_t)frame->object << 40) * 0xff51afd7ed558ccdULL;
	return h ^ h >> 32;
}

static uint64_t node_hash(const struct stacks *t, uint32_t node)
{
	return node ? t->nodes.data[node].hash : 0;
}

/* The key of a stack whose frames have @hash. */
static uint64_t stack_key(uint64_t hash, uint32_t flags)
{
	return hash ^ (uint64_t)flags << 48;
}

static bool equals(const struct stacks *t, const struct stack_entry *entry,
		   const struct record_stack *stack)
{
	uint32_t n = entry->leaf;
	if (entry->flags != stack->flags)
		return false;
	for (uint32_t i = 0; i < stack->count && n; i++, n = t->nodes.data[n].parent) {
		if (t->nodes.data[n].object != stack->frames[i].object ||
		    t->nodes.data[n].offset != stack->frames[i].offset)
			return false;
		if (i + 1 == stack->count)
			return !t->nodes.data[n].parent;
	}
	return !stack->count && !n;
}

/* The node for a frame above @parent: 1 when it was made for @stack, 0 when it was there. Different
 * paths with one hash take the keys that follow. */
static int nodes_intern(struct stacks *t, uint32_t parent, const struct record_frame *frame,
			uint32_t stack, uint32_t *ret)
{
	uint64_t hash = hash_frame(node_hash(t, parent), frame), key = hash;
	uint64_t *found;

	for (; (found = hash_get(&t->by_node, key)); key++) {
		const struct stack_node *n = &t->nodes.data[*found];
		if (n->parent == parent && n->object == frame->object &&
		    n->offset == frame->offset) {
			*ret = (uint32_t)*found;
			return 0;
		}
	}
	uint32_t node;
	int rc = nodes_add(t,
			   (struct stack_node){ .offset = frame->offset,
						.object = frame->object,
						.parent = parent,
						.stack = stack,
						.hash = hash },
			   &node);
	if (rc < 0)
		return rc;
	if (hash_set(&t->by_node, key, node) < 0)
		return -ENOMEM;
	*ret = node;
	return 1;
}

/* Walk the tree for as long as it knows the frames, then extend it. */
static int stacks_add(struct stacks *t, const struct record_stack *stack, uint32_t id,
		      struct record_frame *scratch, struct stack_delta *ret, uint32_t *ret_leaf)
{
	struct stack_delta delta = { .frames = scratch };
	uint32_t node = 0;
	uint64_t base = 0;

	for (uint32_t i = stack->count; i > 0; i--) {
		struct record_frame frame = stack->frames[i - 1];
		int rc = nodes_intern(t, node, &frame, id, &node);
		if (rc < 0)
			return rc;
		if (rc > 0) {
			frame.offset -= base;
			scratch[delta.count++] = frame;
			continue;
		}
		assert(!delta.count);
		delta.kept++;
		delta.parent = t->nodes.data[node].stack;
		base = frame.offset;
	}
	*ret = delta;
	*ret_leaf = node;
	return 0;
}

int stacks_intern(struct stacks *t, const struct record_stack *stack, struct record_frame *scratch,
		  uint32_t *ret_id, struct stack_delta *ret_delta)
{
	uint64_t hash = 0;
	assert(stack->count <= STACK_FRAMES_MAX);
	for (uint32_t i = stack->count; i > 0; i--)
		hash = hash_frame(hash, &stack->frames[i - 1]);
	uint64_t key = stack_key(hash, stack->flags);
	uint64_t *found;

	for (; (found = hash_get(&t->by_stack, key)); key++) {
		const struct stack_entry *entry = stacks_get(t, (uint32_t)*found);
		assert(entry);
		if (equals(t, entry, stack)) {
			*ret_id = (uint32_t)*found;
			return 0;
		}
	}

	struct stack_entry entry = {
		.depth = (uint16_t)stack->count,
		.flags = stack->flags,
		.is_known = true,
	};
	uint32_t id = t->first + (uint32_t)t->entries.len;
	int rc = stacks_add(t, stack, id, scratch, ret_delta, &entry.leaf);
	if (rc < 0)
		return rc;
	entry.fresh = (uint16_t)ret_delta->count;
	if (hash_set(&t->by_stack, key, id) < 0 || vec_push(&t->entries, entry) < 0)
		return -ENOMEM;
	*ret_id = id;
	return 1;
}

int stacks_append(struct stacks *t, const struct record_stack *stack, struct record_frame *scratch,
		  uint32_t *ret_id, struct stack_delta *ret_delta)
{
	const struct stack_entry *parent = stacks_get(t, stack->parent);
	assert(parent);
	uint32_t node = node_above(t, parent, stack->kept);
	uint32_t id = t->first + (uint32_t)t->entries.len;
	struct stack_delta delta = { .frames = scratch, .count = stack->count };
	uint64_t base = 0;

	if (node) {
		delta.kept = t->nodes.data[node].depth;
		delta.parent = t->nodes.data[node].stack;
		base = t->nodes.data[node].offset;
	}
	for (uint32_t i = stack->count, k = 0; i-- > 0; k++) {
		struct stack_node fresh = {
			.offset = stack->frames[i].offset,
			.object = stack->frames[i].object,
			.parent = node,
			.stack = id,
		};
		scratch[k] = (struct record_frame){ fresh.object, fresh.offset - base };
		if (nodes_add(t, fresh, &node) < 0)
			return -ENOMEM;
	}
	if (vec_push(&t->entries,
		     (struct stack_entry){ .leaf = node,
					   .depth = (uint16_t)(delta.kept + delta.count),
					   .fresh = (uint16_t)delta.count,
					   .flags = stack->flags,
					   .is_known = true }) < 0)
		return -ENOMEM;
	*ret_id = id;
	*ret_delta = delta;
	return 0;
}

/* ---- the reader's side ---- */

/* Make room for number @id; numbers between, whose definitions are lost, stay unknown. */
static int entries_reach(struct stacks *t, uint32_t id)
{
	if (!t->entries.len)
		t->first = id;
	if (id < t->first)
		return -EBADMSG;
	/* So far away only when the start of an epoch was lost, and the rest is of no use. */
	if (id - t->first >= STACKS_NODES_LIMIT)
		stacks_restart(t, id);
	if (vec_reserve(&t->entries, id - t->first + 1) < 0)
		return -ENOMEM;
	while (t->entries.len <= id - t->first)
		t->entries.data[t->entries.len++] = (struct stack_entry){ 0 };
	return 0;
}

int stacks_define(struct stacks *t, uint32_t id, uint32_t flags, const struct stack_delta *delta,
		  uint32_t *ret_above)
{
	uint32_t node = 0;

	if (!id || t->nodes.len + delta->count > STACKS_NODES_LIMIT)
		return -EBADMSG;
	if (stacks_get(t, id))
		return 0;
	/* First, as it may forget everything. */
	int rc = entries_reach(t, id);
	if (rc < 0)
		return rc;
	if (delta->parent) {
		const struct stack_entry *parent = stacks_get(t, delta->parent);
		if (!parent)
			return -ENOENT;
		if (delta->kept > parent->depth)
			return -EBADMSG;
		node = node_above(t, parent, delta->kept);
	}

	uint32_t above = node;
	uint64_t base = node ? t->nodes.data[node].offset : 0;
	for (uint32_t i = 0; i < delta->count; i++) {
		rc = nodes_add(t,
			       (struct stack_node){ .offset = delta->frames[i].offset + base,
						    .object = delta->frames[i].object,
						    .parent = node },
			       &node);
		if (rc < 0)
			return rc;
	}
	t->entries.data[id - t->first] = (struct stack_entry){
		.leaf = node,
		.depth = (uint16_t)((delta->parent ? delta->kept : 0) + delta->count),
		.fresh = (uint16_t)delta->count,
		.flags = flags,
		.is_known = true,
	};
	*ret_above = above;
	return 1;
}
