/* SPDX-License-Identifier: Apache-2.0 */
#include "export/stacking.h"

#include <errno.h>

void stacking_release(struct stacking *s)
{
	vec_release(&s->open);
	vec_release(&s->path);
}

static void close_to(struct stacking *s, size_t depth, uint64_t time_ns,
		     const struct stacking_sink *sink)
{
	if (s->open.len > depth)
		sink->close(sink->data, s->open.len - depth, time_ns);
	s->open.len = s->open.len > depth ? depth : s->open.len;
}

/*
 * What is above a node and not open yet, and how much of what is open stays. A node comes after those
 * above it, so that both are in the order of their numbers. The process is the line's own; what hangs
 * from the root without one is not.
 */
static int find_path(struct stacking *s, const struct profile *p, uint32_t node, size_t *ret_common)
{
	const struct profile_node *nodes = profile_nodes(p);
	size_t common = s->open.len;

	s->path.len = 0;
	for (; node != PROFILE_ROOT; node = nodes[node].parent) {
		while (common && s->open.data[common - 1] > node)
			common--;
		if (common && s->open.data[common - 1] == node)
			break;
		if (nodes[node].parent == PROFILE_ROOT &&
		    profile_frame_get(p, nodes[node].frame).kind == FRAME_PROCESS)
			break;
		if (vec_push(&s->path, (struct stacking_frame){ node, nodes[node].frame }) < 0)
			return -ENOMEM;
	}
	*ret_common = common;
	return 0;
}

int stacking_step(struct stacking *s, const struct profile *p, const struct stacking_step *step,
		  const struct stacking_sink *sink)
{
	uint64_t end_ns = step->time_ns + step->duration_ns;
	bool is_break = step->time_ns > s->end_ns && step->time_ns - s->end_ns > step->slack_ns;
	size_t common;

	if (is_break)
		close_to(s, 0, s->end_ns, sink);
	/* Most stacks are that of the moment before. */
	if (s->open.len && *vec_last(&s->open) == step->node && !step->is_call) {
		s->end_ns = end_ns > s->end_ns ? end_ns : s->end_ns;
		return 0;
	}
	if (find_path(s, p, step->node, &common) < 0)
		return -ENOMEM;
	if (step->is_call && common && !s->path.len) {
		struct stacking_frame again = { step->node, profile_nodes(p)[step->node].frame };
		if (vec_push(&s->path, again) < 0)
			return -ENOMEM;
		common--;
	}
	close_to(s, common, step->time_ns, sink);
	for (size_t i = s->path.len; i-- > 0;) {
		if (vec_push(&s->open, s->path.data[i].node) < 0)
			return -ENOMEM;
	}
	sink->open(sink->data, s->path.data, s->path.len, step->time_ns, step);
	s->end_ns = end_ns;
	return 0;
}

void stacking_end(struct stacking *s, const struct stacking_sink *sink)
{
	close_to(s, 0, s->end_ns, sink);
}
