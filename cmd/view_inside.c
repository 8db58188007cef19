/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/view_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void inside_release(struct inside *in)
{
	vec_release(&in->parts);
	hash_release(&in->by_key);
}

/* "libfoo.so+0x1a0", how Python calls, and where the kernel happened to be tell nobody anything. */
static bool has_meaning(const struct frame *f)
{
	bool is_code = f->kind == FRAME_PYTHON || f->kind == FRAME_CXX || f->kind == FRAME_NATIVE;
	if (!is_code || strstr(f->name, "+0x"))
		return false;
	return f->class != FRAME_CLASS_INTERPRETER ||
	       (strncmp(f->name, "_Py", 3) && !strcasestr(f->name, "call"));
}

static int part_add(struct inside *in, const struct inside_part *part)
{
	uint64_t key = hash_pair(part->row, part->frame);
	const uint64_t *known = hash_get(&in->by_key, key);
	if (!known) {
		if (hash_set(&in->by_key, key, in->parts.len) < 0)
			return -ENOMEM;
		return vec_push(&in->parts, *part);
	}
	struct inside_part *old = &in->parts.data[*known];
	if (old->node == part->node)
		return 0;
	old->node = part->node;
	old->depth = part->depth > old->depth ? part->depth : old->depth;
	old->value += part->value;
	return 0;
}

static uint32_t distance(const struct profile *p, uint32_t from, uint32_t to)
{
	uint32_t depth = 0;
	for (; to != from && to != PROFILE_NONE; to = profile_node(p, to).parent)
		depth++;
	return depth;
}

int inside_add(struct inside *in, const struct profile *p, uint32_t row, uint32_t code,
	       uint32_t node, uint64_t value)
{
	uint32_t depth = distance(p, code, node);
	for (uint32_t n = node; n != code && n != PROFILE_NONE; n = profile_node(p, n).parent) {
		uint32_t frame = profile_node(p, n).frame;
		struct frame f = profile_frame_get(p, frame);
		struct inside_part part = { row, frame, depth--, node, value };
		if (has_meaning(&f) && part_add(in, &part) < 0)
			return -ENOMEM;
	}
	return 0;
}

int inside_find(const struct inside *in, const uint64_t *totals, uint32_t *ret, size_t count)
{
	memset(ret, 0xff, count * sizeof(*ret)); /* PROFILE_NONE */
	const struct inside_part **best = calloc(count + 1, sizeof(struct inside_part *));
	if (!best)
		return -ENOMEM;
	vec_for_each(&in->parts, part) {
		const struct inside_part *old = best[part->row];
		if (part->value < totals[part->row] - part->value)
			continue;
		if (old && (part->value > old->value ||
			    (part->value == old->value && part->depth < old->depth)))
			continue;
		best[part->row] = part;
		ret[part->row] = part->frame;
	}
	free(best);
	return 0;
}
