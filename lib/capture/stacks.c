/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/stacks.h"

#include <assert.h>
#include <errno.h>

void stacks_release(struct stacks *t)
{
	vec_release(&t->entries);
	vec_release(&t->nodes);
	vec_release(&t->runs);
	hash_release(&t->by_branch);
	hash_release(&t->by_stack);
}

void stacks_retire(struct stacks *t)
{
	hash_release(&t->by_branch);
	hash_release(&t->by_stack);
}

void stacks_restart(struct stacks *t, uint32_t first)
{
	stacks_retire(t);
	t->entries.len = t->nodes.len = t->runs.len = 0;
	t->first = first;
}

const struct stack_entry *stacks_get(const struct stacks *t, uint32_t id)
{
	/* A number below the first one wraps to one that is far too large. */
	uint32_t i = id - t->first;
	return i < t->entries.len && t->entries.data[i].is_known ? &t->entries.data[i] : NULL;
}

static const struct stack_run *run_of(const struct stacks *t, uint32_t node)
{
	return &t->runs.data[t->nodes.data[node].run];
}

static uint32_t caller_of(const struct stacks *t, uint32_t node)
{
	const struct stack_run *run = run_of(t, node);

	return node == run->first ? run->parent : node - 1;
}

void stacks_expand(const struct stacks *t, const struct stack_entry *entry, uint32_t count,
		   struct record_frame *ret)
{
	for (uint32_t n = entry->leaf; count; n = caller_of(t, n), count--)
		*ret++ = (struct record_frame){ .object = t->nodes.data[n].object,
						.offset = t->nodes.data[n].offset };
}

/* The node where the @kept root-most frames of a stack end. */
static uint32_t node_above(const struct stacks *t, const struct stack_entry *entry, uint32_t kept)
{
	if (!kept)
		return 0;
	if (entry->depth - kept < entry->own)
		return entry->leaf - (entry->depth - kept);
	const struct stack_run *run = run_of(t, entry->leaf);
	while (run->depth > kept)
		run = run_of(t, run->parent);
	return run->first + (kept - run->depth);
}

static struct stack_entry entry_at(const struct stacks *t, uint32_t leaf, uint32_t depth,
				   uint32_t flags)
{
	return (struct stack_entry){
		.leaf = leaf,
		.flags = flags,
		.depth = (uint16_t)depth,
		.own = leaf ? (uint16_t)(leaf - run_of(t, leaf)->first + 1) : 0,
		.is_known = true,
	};
}

/* A run of @count nodes below @parent, which is @depth frames from the root, for node_push(). */
static int run_begin(struct stacks *t, uint32_t parent, uint32_t depth, uint32_t stack,
		     uint32_t count)
{
	if ((!t->nodes.len && vec_push(&t->nodes, (struct stack_node){ 0 }) < 0) ||
	    vec_reserve(&t->nodes, t->nodes.len + count) < 0)
		return -ENOMEM;
	return vec_push(&t->runs, (struct stack_run){
					  .first = (uint32_t)t->nodes.len,
					  .parent = parent,
					  .depth = depth + 1,
					  .stack = stack,
				  });
}

/* The next node of the last run. */
static uint32_t node_push(struct stacks *t, uint32_t object, uint64_t offset)
{
	t->nodes.data[t->nodes.len] = (struct stack_node){
		.offset = offset,
		.object = object,
		.run = (uint32_t)t->runs.len - 1,
	};
	return (uint32_t)t->nodes.len++;
}

/* ---- the writer's side ---- */

static uint64_t hash_frame(uint64_t h, const struct record_frame *frame)
{
	h = (h ^ frame->offset ^ (uint64_t)frame->object << 40) * 0xff51afd7ed558ccdULL;
	return h ^ h >> 32;
}

/* The key of a stack whose frames have @hash. */
static uint64_t stack_key(uint64_t hash, uint32_t flags)
{
	return hash ^ (uint64_t)flags << 48;
}

static bool is_frame(const struct stacks *t, uint32_t node, const struct record_frame *frame)
{
	const struct stack_node *n = &t->nodes.data[node];

	return n->offset == frame->offset && n->object == frame->object;
}

static bool equals(const struct stacks *t, const struct stack_entry *entry,
		   const struct record_stack *stack)
{
	uint32_t n = entry->leaf;

	if (entry->flags != stack->flags || entry->depth != stack->count)
		return false;
	for (uint32_t i = 0; i < stack->count; i++, n = caller_of(t, n)) {
		if (!is_frame(t, n, &stack->frames[i]))
			return false;
	}
	return true;
}

/* The callee @frame of @node: its node, or 0 and in @ret_key where a run for it belongs in the index.
 * Different ones with one hash take the keys that follow. */
static uint32_t callee_of(const struct stacks *t, uint32_t node, const struct record_frame *frame,
			  uint64_t *ret_key)
{
	uint64_t key = hash_frame(node * 0x9e3779b97f4a7c15ULL, frame);
	uint64_t *found;

	if (node && node + 1 < t->nodes.len &&
	    t->nodes.data[node + 1].run == t->nodes.data[node].run && is_frame(t, node + 1, frame))
		return node + 1;
	for (; (found = hash_get(&t->by_branch, key)); key++) {
		const struct stack_run *run = &t->runs.data[*found];
		if (run->parent == node && is_frame(t, run->first, frame))
			return run->first;
	}
	*ret_key = key;
	return 0;
}

/* Walk the tree from @node on for as long as it knows the frames, then extend it by a run. */
static int stacks_add(struct stacks *t, const struct record_stack *stack, uint32_t node,
		      struct record_frame *scratch, uint32_t *ret_id, struct stack_delta *ret)
{
	struct stack_delta delta = { .frames = scratch };
	uint32_t id = t->first + (uint32_t)t->entries.len, left = stack->count - stack->kept;
	uint64_t base = 0, key = 0;

	for (; left; left--) {
		uint32_t next = callee_of(t, node, &stack->frames[left - 1], &key);
		if (!next)
			break;
		node = next;
	}
	if (node) {
		delta.kept = stack->count - left;
		delta.parent = run_of(t, node)->stack;
		base = t->nodes.data[node].offset;
	}
	if (left && (run_begin(t, node, delta.kept, id, left) < 0 ||
		     hash_set(&t->by_branch, key, t->runs.len - 1) < 0))
		return -ENOMEM;
	for (; left; left--) {
		const struct record_frame *frame = &stack->frames[left - 1];
		scratch[delta.count++] =
			(struct record_frame){ frame->object, frame->offset - base };
		node = node_push(t, frame->object, frame->offset);
	}
	if (vec_push(&t->entries, entry_at(t, node, stack->count, stack->flags)) < 0)
		return -ENOMEM;
	*ret_id = id;
	*ret = delta;
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

	int rc = stacks_add(t, stack, 0, scratch, ret_id, ret_delta);
	if (rc < 0)
		return rc;
	return hash_set(&t->by_stack, key, *ret_id) < 0 ? -ENOMEM : 1;
}

int stacks_append(struct stacks *t, const struct record_stack *stack, struct record_frame *scratch,
		  uint32_t *ret_id, struct stack_delta *ret_delta)
{
	const struct stack_entry *parent = stacks_get(t, stack->parent);

	return stacks_add(t, stack, parent ? node_above(t, parent, stack->kept) : 0, scratch,
			  ret_id, ret_delta);
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
	uint32_t kept = delta->parent ? delta->kept : 0;
	if (delta->count && run_begin(t, node, kept, id, delta->count) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < delta->count; i++)
		node = node_push(t, delta->frames[i].object, delta->frames[i].offset + base);
	t->entries.data[id - t->first] = entry_at(t, node, kept + delta->count, flags);
	*ret_above = above;
	return 1;
}
