/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of one epoch as a tree of frames that grows from the root: equal root-most parts are
 * kept once. The writer interns whole stacks, the reader puts together what the writer took apart.
 */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "capture/encoder.h"
#include "capture/limits.h"
#include "capture/record.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Of one epoch. A writer that reaches it starts the next. In the writer a node costs 16 bytes, and at
 * most 66 where each is a run of its own, and there are two epochs: 66 MiB in a recorder.
 */
#define STACKS_NODES_RECORDER (512u << 10)
/* A reader takes no more: as the writer starts an epoch only before the next stack, one stack may go
 * beyond it. */
#define STACKS_NODES_LIMIT (CAPTURE_EPOCH_FRAMES_MAX + STACK_FRAMES_MAX)

struct stack_node {
	uint64_t offset;
	uint32_t object;
	uint32_t run;
};

/*
 * What one stack added to the tree: nodes one behind the other, each the caller of the next. Other
 * stacks leave it anywhere, with a run of their own. Most of a stack's frames are found by looking at
 * the node behind, which is in the cache, where a node with an index entry of its own missed it twice.
 */
struct stack_run {
	uint32_t first;  /* node */
	uint32_t parent; /* node that its first hangs on; 0: that is the root-most frame */
	uint32_t depth;  /* of its first, from 1 */
	uint32_t stack;  /* whose it is */
};

struct stack_entry {
	uint32_t leaf;  /* node; 0: a stack without frames */
	uint32_t flags; /* enum stack_flag */
	uint16_t depth; /* how many frames */
	uint16_t own;   /* of these, at the leaf: in its run; found without a look at node or run */
	bool is_known;
};
static_assert(STACK_FRAMES_MAX <= UINT16_MAX, "stack_entry has too little room for a depth");

/* All-zero is an empty one. */
struct stacks {
	uint32_t first; /* the number of entries[0] */
	VEC(struct stack_entry) entries;
	VEC(struct stack_node) nodes; /* [0] is not used */
	VEC(struct stack_run) runs;
	struct hash by_branch; /* hash of parent and first frame -> run; writer only */
	struct hash by_stack;  /* hash of the whole -> number; writer only */
};

void stacks_release(struct stacks *t);
/* Forget everything but what memory it took; numbers go on from @first. */
void stacks_restart(struct stacks *t, uint32_t first);
/* Forget what only interning needs; the stacks can still be had. */
void stacks_retire(struct stacks *t);

/* NULL when it is not here. */
const struct stack_entry *stacks_get(const struct stacks *t, uint32_t id);
/* The @count leaf-most frames, leaf first. */
void stacks_expand(const struct stacks *t, const struct stack_entry *entry, uint32_t count,
		   struct record_frame *ret);

/*
 * The number of a stack (at most STACK_FRAMES_MAX frames; its id is ignored). When it is new, 1 and
 * in @ret_delta how to write it, its frames in @scratch; when it is known, 0. Negative: -ENOMEM.
 */
int stacks_intern(struct stacks *t, const struct record_stack *stack, struct record_frame *scratch,
		  uint32_t *ret_id, struct stack_delta *ret_delta);
/* The same for one that gets a number of its own, whose frames are only those beyond what it keeps
 * of its parent, which must be here: 0 or -ENOMEM. stacks_intern() will not find it. */
int stacks_append(struct stacks *t, const struct record_stack *stack, struct record_frame *scratch,
		  uint32_t *ret_id, struct stack_delta *ret_delta);

/*
 * Add a stack as it was read: 1, and the node that its own frames stand on. 0 when that number is
 * known; -EBADMSG when it cannot be a stack of any writer of ours; -ENOENT when its parent is not
 * here; -ENOMEM.
 */
int stacks_define(struct stacks *t, uint32_t id, uint32_t flags, const struct stack_delta *delta,
		  uint32_t *ret_above);
