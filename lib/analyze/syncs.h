/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls in which the host waited for a device, and what each cost: how long it took, and how long
 * the device then had nothing to do. Private to this module.
 */
#pragma once

#include "analyze/filter.h"

struct sync_call {
	uint64_t time_ns, end_ns;
	/* Of the device's idle time: what falls into the call, and from when it ran out of work
	 * during the call until the next work began, unless that had been launched before the
	 * call; or until the next such call. What lies in no
	 * gap between two pieces of work costs nothing: the last call of a program has to wait. */
	uint64_t idle_ns;
	uint32_t thread, site;
	uint32_t text; /* what the call is called */
};

struct syncs {
	VEC(struct sync_call) calls; /* by thread, then time */
};

void syncs_release(struct syncs *s);
/*
 * Those that pass @f: SYNC records, and calls that copy and come back only when the copy is done.
 * 0 or -ENOMEM.
 */
int syncs_init(struct syncs *s, struct analysis *a, const struct filter *f);
bool syncs_any(const struct analysis *a);
