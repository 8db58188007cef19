/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/filter.h"

#include "profile/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reversal {
	const struct profile *src;
	struct profile *dst;
	uint32_t *frames; /* source number -> destination number */
};

static void reversal_release(struct reversal *r)
{
	profile_free(r->dst);
	free(r->frames);
}
DEFINE_CLEANUP_EMBEDDED(reversal_release, struct reversal)

static int reversal_path(struct reversal *r, uint32_t leaf, uint32_t *ret)
{
	uint32_t at = PROFILE_ROOT;
	for (uint32_t node = leaf; node != PROFILE_ROOT;) {
		const struct profile_node *n = &r->src->nodes.data[node];
		uint32_t frame = r->frames[n->frame];
		if (frame == PROFILE_NONE) {
			struct frame f = profile_frame_get(r->src, n->frame);
			if (profile_frame(r->dst, &f, &frame) < 0)
				return -ENOMEM;
			r->frames[n->frame] = frame;
		}
		if (profile_child(r->dst, at, frame, &at) < 0)
			return -ENOMEM;
		node = n->parent;
	}
	*ret = at;
	return 0;
}

int profile_reverse(const struct profile *p, struct profile **ret)
{
	CLEANUP(reversal_release)
	struct reversal r = {
		.src = p,
		.frames = malloc(profile_frame_count(p) * sizeof(*r.frames)),
	};
	if (!r.frames || profile_new(&r.dst) < 0)
		return -ENOMEM;
	memset(r.frames, 0xff, profile_frame_count(p) * sizeof(*r.frames));
	for (int m = 0; m < p->metric_count; m++) {
		struct profile_metric metric = profile_metric_get(p, m);
		if (profile_metric(r.dst, metric.name, metric.unit) < 0)
			return -ENOMEM;
	}

	for (uint32_t node = 0; node < p->nodes.len; node++) {
		uint32_t top = PROFILE_NONE;
		for (int m = 0; m < p->metric_count; m++) {
			uint64_t value = profile_self(p, node, m);
			if (value && top == PROFILE_NONE && reversal_path(&r, node, &top) < 0)
				return -ENOMEM;
			if (value)
				profile_add(r.dst, top, m, value);
		}
	}
	if (profile_finish(r.dst) < 0)
		return -ENOMEM;
	*ret = TAKE(r.dst);
	return 0;
}
