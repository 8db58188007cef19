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
	for (; s->open.len > depth; s->open.len--)
		sink->close(sink->data, time_ns);
}

/* The process is the line's own; what hangs from the root without one is not. */
static bool is_place(const struct profile *p, uint32_t node)
{
	return node != PROFILE_ROOT &&
	       (profile_node(p, node).parent != PROFILE_ROOT ||
		profile_frame_get(p, profile_node(p, node).frame).kind != FRAME_PROCESS);
}

static int find_path(struct stacking *s, const struct profile *p, uint32_t node)
{
	s->path.len = 0;
	for (; is_place(p, node); node = profile_node(p, node).parent) {
		if (vec_push(&s->path, node) < 0)
			return -ENOMEM;
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
	       s->open.data[common] == s->path.data[depth - 1 - common])
		common++;
	if (step->is_call && common && common == depth)
		common--;
	close_to(s, common, step->time_ns, sink);
	for (size_t i = common; i < depth; i++) {
		uint32_t node = s->path.data[depth - 1 - i];
		if (vec_push(&s->open, node) < 0)
			return -ENOMEM;
		sink->open(sink->data, node, step->time_ns, step);
	}
	s->end_ns = end_ns;
	return 0;
}

void stacking_end(struct stacking *s, const struct stacking_sink *sink)
{
	close_to(s, 0, s->end_ns, sink);
}
