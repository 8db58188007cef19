/* SPDX-License-Identifier: Apache-2.0 */
/* The restrictions of a command line, resolved to rows; private to this module. */
#pragma once

#include "analyze/account.h"

struct filter {
	bool *thread_passes;  /* by row */
	bool *process_passes; /* by row; for what has no thread */
	bool *device_passes;  /* by row */
	bool *name_passes;    /* by number in `names` */
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
	return s->thread ? f->thread_passes[s->thread] : f->process_passes[s->process];
}

static inline bool filter_time(const struct filter *f, uint64_t time_ns)
{
	return time_ns >= f->begin_ns && time_ns < f->end_ns;
}
