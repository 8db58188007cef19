/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks as leaves of one tree of frames, the same one for the same frames. */
#include "analyze/tables.h"

#include <errno.h>

uint32_t analysis_stack_row(const struct analysis *a, uint32_t id)
{
	uint32_t row = 0;
	return id && idmap_get(&a->stack_ids, id, &row) ? row : 0;
}

static uint64_t frame_hash(const struct frame_ref *f)
{
	return hash_hostile_pair(f->offset, f->object);
}

static int frames_grow(struct analysis *a)
{
	if (slots_grow(&a->frame_slots) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < a->frames.len; i++)
		slots_add(&a->frame_slots, frame_hash(&a->frames.data[i]), i);
	return 0;
}

int analysis_frame_intern(struct analysis *a, struct frame_ref ref, uint32_t *ret)
{
	if (slots_are_full(&a->frame_slots) && frames_grow(a) < 0)
		return -ENOMEM;
	struct slots_probe at = slots_probe(&a->frame_slots, frame_hash(&ref));
	while (slots_next(&a->frame_slots, &at, ret)) {
		const struct frame_ref *known = &a->frames.data[*ret];
		if (known->object == ref.object && known->offset == ref.offset)
			return 0;
	}
	if (vec_push(&a->frames, ref) < 0)
		return -ENOMEM;
	*ret = (uint32_t)a->frames.len - 1;
	slots_put(&a->frame_slots, &at, *ret);
	return 0;
}

const struct frame_ref *analysis_stack(struct analysis *a, uint32_t row)
{
	const struct stack *stack = &a->stacks.data[row];

	a->expanded.len = 0;
	for (uint32_t node = stack->leaf; node; node = pairtab_get(&a->stack_nodes, node).first) {
		struct pair step = pairtab_get(&a->stack_nodes, node);
		if (vec_push(&a->expanded, analysis_frame(a, step.second)) < 0)
			return NULL;
	}
	return a->expanded.data;
}

static int node_read(struct analysis *a, uint32_t number, uint32_t node)
{
	while (a->nodes_read.len <= number) {
		if (vec_push(&a->nodes_read, 0) < 0)
			return -ENOMEM;
	}
	a->nodes_read.data[number] = node;
	return 0;
}

static int add_frames(struct analysis *a, const struct record_stack *s, uint32_t *ret_leaf)
{
	uint32_t number = s->first;

	*ret_leaf = s->above && s->above < a->nodes_read.len ? a->nodes_read.data[s->above] : 0;
	pairtab_expect(&a->stack_nodes, *ret_leaf);
	for (uint32_t i = s->count - s->kept; i-- > 0;) {
		struct frame_ref ref = { .offset = s->frames[i].offset };
		uint32_t frame;
		if (table_row(&a->objects, s->frames[i].object, &ref.object) < 0 ||
		    analysis_frame_intern(a, ref, &frame) < 0 ||
		    pairtab_intern(&a->stack_nodes, *ret_leaf, frame, ret_leaf) < 0 ||
		    (number && node_read(a, number++, *ret_leaf) < 0))
			return -ENOMEM;
	}
	return 0;
}

/* The leaf-most frame that is accelerator code, + 1. */
static uint32_t find_device_frame(const struct analysis *a, uint32_t leaf)
{
	uint32_t i = 1;
	for (uint32_t node = leaf; node; i++) {
		struct pair step = pairtab_get(&a->stack_nodes, node);
		uint32_t object = analysis_frame(a, step.second).object;
		if (a->objects.data[object].flags & OBJECT_HOLDS_DEVICE_CODE)
			return i;
		node = step.first;
	}
	return 0;
}

int analysis_stack_intern(struct analysis *a, const struct stack *stack, uint32_t *ret)
{
	while (a->stack_at.len <= stack->leaf) {
		if (vec_push(&a->stack_at, 0) < 0)
			return -ENOMEM;
	}
	uint32_t first = a->stack_at.data[stack->leaf];
	for (uint32_t row = first; row; row = a->stacks.data[row].next) {
		if (a->stacks.data[row].flags == stack->flags) {
			*ret = row;
			return 0;
		}
	}
	if (vec_push(&a->stacks, *stack) < 0)
		return -ENOMEM;
	*ret = (uint32_t)a->stacks.len - 1;
	vec_last(&a->stacks)->next = first;
	if (a->holds_device_code)
		vec_last(&a->stacks)->device_frame = find_device_frame(a, stack->leaf);
	a->stack_at.data[stack->leaf] = *ret;
	return 0;
}

/* Frames at the leaf that are of the profiler, which was called back: the caller is what counts. */
static void leave_profiler(const struct analysis *a, struct stack *stack)
{
	while (stack->leaf) {
		struct pair step = pairtab_get(&a->stack_nodes, stack->leaf);
		uint32_t object = analysis_frame(a, step.second).object;
		if (!(a->objects.data[object].flags & OBJECT_IS_PROFILER))
			return;
		stack->leaf = step.first;
		stack->count--;
	}
}

int analysis_stack_define(struct analysis *a, const struct record_stack *s)
{
	/* Of a stranger's flags those that are none of ours would make stacks of their own. */
	struct stack stack = { .count = s->count, .flags = s->flags & STACK_FLAGS };
	uint32_t row;
	if (add_frames(a, s, &stack.leaf) < 0)
		return -ENOMEM;
	if (a->holds_profiler)
		leave_profiler(a, &stack);
	if (analysis_stack_intern(a, &stack, &row) < 0)
		return -ENOMEM;
	return s->id ? idmap_set(&a->stack_ids, s->id, row) : 0;
}

int analysis_stack_within(struct analysis *a, uint32_t row, uint32_t node, uint32_t *ret)
{
	struct stack stack = { .leaf = node, .flags = a->stacks.data[row].flags };
	VEC(uint32_t) frames = { 0 };
	int rc = 0;

	for (uint32_t n = node; n; n = pairtab_get(&a->stack_nodes, n).first)
		stack.count++;
	for (uint32_t n = a->stacks.data[row].leaf; n && rc >= 0;
	     n = pairtab_get(&a->stack_nodes, n).first)
		rc = vec_push(&frames, pairtab_get(&a->stack_nodes, n).second);
	for (size_t i = frames.len; i-- > 0 && rc >= 0; stack.count++)
		rc = pairtab_intern(&a->stack_nodes, stack.leaf, frames.data[i], &stack.leaf);
	vec_release(&frames);
	return rc < 0 ? rc : analysis_stack_intern(a, &stack, ret);
}
