/* SPDX-License-Identifier: Apache-2.0 */
/* How phases are found, in parts. Private to phases*.c. */
#pragma once

#include "analyze/filter.h"

/* A stretch of time that is about something. */
struct stretch {
	uint64_t begin_ns, end_ns;
	enum phase phase;
};

struct finding {
	struct analysis *a;
	const struct filter *f;
	uint32_t process, thread; /* that launches most */
	uint64_t begin_ns, end_ns;
	/* Launches or steps begin; steps begin; they are settled; all of it ends. */
	uint64_t first_ns, steps_ns, steady_ns, last_ns;
	bool has_steps, has_launches;
	VEC(struct stretch) about; /* by begin, disjoint: of its thread */
	VEC(struct stretch) marked;
	VEC(struct stretch) all; /* what comes out: every moment once */
};

/* phases_about.c: what the thread was in, by its host code; then where it captured graphs. 0 or
 * -ENOMEM, as all here. */
int phases_about(struct finding *x);
int phases_captures(struct finding *x);
/* phases_sum.c: what happened in each phase. */
int phases_sum(struct finding *x, struct phases_summary *ret);
/* phases.c */
bool phases_is_of(const struct finding *x, uint32_t process);
