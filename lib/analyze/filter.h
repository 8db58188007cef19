/* SPDX-License-Identifier: Apache-2.0 */
/* The restrictions of a command line, resolved to rows; private to this module. */
#pragma once

#include "analyze/account.h"

struct filter {
	struct analysis_filter texts; /* what it was made from */
	bool *thread_passes;          /* by row */
	bool *process_passes;         /* by row; for what has no thread */
	bool *device_passes;          /* by row */
	bool *queue_passes;           /* by row */
	bool *name_passes;            /* by number in `names` */
	bool *stack_passes;           /* by row; NULL: all do */
	const bool *queues; /* queue_passes where not all pass, for the accounting; else NULL */
	bool has_time;
	uint64_t begin_ns, end_ns; /* [begin, end); all there is without has_time */
	enum window_source source; /* of has_time: a time or steps */
};

void filter_release(struct filter *f);
/* -EINVAL, with a text that names the option. */
int filter_init(struct filter *f, struct analysis *a, const struct analysis_filter *texts,
		struct err *err);

static inline bool filter_site(const struct filter *f, const struct site *s)
{
	if (f->stack_passes && (s->kind != SITE_STACK || !f->stack_passes[s->stack]))
		return false;
	return s->thread ? f->thread_passes[s->thread] : f->process_passes[s->process];
}

/* Of host time, by a (thread, stack) pair. */
static inline bool filter_group(const struct filter *f, const struct sample_group *g)
{
	return f->thread_passes[g->thread] && (!f->stack_passes || f->stack_passes[g->stack]);
}

/* Of device work, by where it is. */
static inline bool filter_on(const struct filter *f, uint32_t device, uint32_t queue)
{
	return f->device_passes[device] && f->queue_passes[queue];
}

static inline bool filter_time(const struct filter *f, uint64_t time_ns)
{
	return time_ns >= f->begin_ns && time_ns < f->end_ns;
}
