/* SPDX-License-Identifier: Apache-2.0 */
/* What threads are known to have waited for, as one list of disjoint spans per thread. */
#pragma once

#include "analyze/account.h"

struct wait_span {
	uint64_t begin_ns, end_ns;
	uint32_t thread;
	enum account_state state; /* ACCOUNT_SYNC, ACCOUNT_COPY or ACCOUNT_BLOCKED */
};

struct waits {
	VEC(struct wait_span) spans; /* by thread, then time */
	struct hash first;           /* thread -> its first span */
};

void waits_release(struct waits *w);
int waits_init(struct waits *w, const struct analysis *a);

/* How much of [@begin_ns, @end_ns) @thread spent in each state; adds to @ns. Returns the sum. */
uint64_t waits_within(const struct waits *w, uint32_t thread, uint64_t begin_ns, uint64_t end_ns,
		      uint64_t ns[ACCOUNT_STATE_COUNT]);
