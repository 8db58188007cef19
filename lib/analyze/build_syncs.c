/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of calls that wait for a device. */
#include "analyze/build.h"

#include <errno.h>

static int build_syncs_by(struct build *b, uint64_t (*value)(const struct sync_call *))
{
	int rc = b->has_syncs ? 0 : syncs_init(&b->syncs, b->a, b->f);
	b->has_syncs = !rc;
	for (size_t i = 0; i < b->syncs.calls.len && !rc; i++) {
		const struct sync_call *c = &b->syncs.calls.data[i];
		uint32_t node;
		rc = paths_call(b->paths, c->site, c->text, &node);
		if (!rc)
			build_add(b, node, value(c));
	}
	return rc;
}

static uint64_t sync_one(const struct sync_call *c)
{
	(void)c;
	return 1;
}

static uint64_t sync_wait(const struct sync_call *c)
{
	return c->end_ns - c->time_ns;
}

static uint64_t sync_idle(const struct sync_call *c)
{
	return c->idle_ns;
}

int build_syncs(struct build *b)
{
	return build_syncs_by(b, sync_one);
}

int build_sync_wait(struct build *b)
{
	return build_syncs_by(b, sync_wait);
}

int build_sync_idle(struct build *b)
{
	return build_syncs_by(b, sync_idle);
}

bool has_sync_idle(const struct analysis *a)
{
	return has_wall(a) && syncs_any(a);
}
