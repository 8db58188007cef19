/* SPDX-License-Identifier: Apache-2.0 */
/* Which host code a thread ran or waited in between two moments, by samples, spans and waits. */
#pragma once

#include "analyze/tables.h"

struct host_time;

int host_time_new(struct host_time **ret, const struct analysis *a);
void host_time_free(struct host_time *h);
DEFINE_CLEANUP(host_time_free, struct host_time *)

/*
 * Add to @sums, by sample group, the nanoseconds of [@begin_ns, @end_ns): of spans and waits the part
 * that lies inside, of samples one period for each.
 */
void host_time_within(const struct host_time *h, uint32_t thread, uint64_t begin_ns,
		      uint64_t end_ns, uint64_t *sums);

/* The sample group of the span that @thread was in at a moment; false: it is not known. */
bool host_time_at(const struct host_time *h, uint32_t thread, uint64_t time_ns, uint32_t *ret);
