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

/* The process is the line's own; what hangs from the root without one is not. */
static int find_path(struct stacking *s, const struct profile *p, uint32_t node)
{
	s->path.len = 0;
	while (node != PROFILE_ROOT) {
		struct profile_node n = profile_node(p, node);
		if (n.parent == PROFILE_ROOT && profile_frame_get(p, n.frame).kind == FRAME_PROCESS)
			break;
		if (vec_push(&s->path, (struct stacking_frame){ node, n.frame }) < 0)
			return -ENOMEM;
		node = n.parent;
	}
	return 0;
}

int stacking_step(struct stacking *s, const struct profile *p, const struct stacking_step *step,
		  const struct stacking_sink *sink)
{
	uint64_t end_ns = step->time_ns + step->duration_ns;
	bool is_break = step->time_ns > s->end_ns && step->time_ns - s->end_ns > step->slack_ns;

	if (is_break)
		close_to(s, 0, s->end_ns, sink);
	/* Most stacks are that of the moment before. */
	if (s->open.len && *vec_last(&s->open) == step->node && !step->is_call) {
		s->end_ns = end_ns > s->end_ns ? end_ns : s->end_ns;
		return 0;
	}
	if (find_path(s, p, step->node) < 0)
		return -ENOMEM;
	size_t common = 0, depth = s->path.len;
	while (common < s->open.len && common < depth &&
	       s->open.data[common] == s->path.data[depth - 1 - common].node)
		common++;
	if (step->is_call && common && common == depth)
		common--;
	close_to(s, common, step->time_ns, sink);
	for (size_t i = common; i < depth; i++) {
		if (vec_push(&s->open, s->path.data[depth - 1 - i].node) < 0)
			return -ENOMEM;
	}
	sink->open(sink->data, s->path.data, depth - common, step->time_ns, step);
	s->end_ns = end_ns;
	return 0;
}

void stacking_end(struct stacking *s, const struct stacking_sink *sink)
{
	close_to(s, 0, s->end_ns, sink);
}
