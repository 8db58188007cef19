/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From stacks at moments to spans: a frame is open for as long as each following stack has it at the
 * same place. Knows nodes of a tree as call paths; not what spans are for.
 */
#pragma once

#include "base/vec.h"
#include "profile/profile.h"

struct stacking_step {
	uint32_t node;
	uint64_t time_ns, duration_ns;
	uint64_t slack_ns; /* a pause of so much is none */
	bool is_call;      /* the leaf is a span of its own */
};

struct stacking_frame {
	uint32_t node, frame;
};

/* What is told of frames: some open, outermost last in @frames, and some close, innermost first. */
struct stacking_sink {
	void (*open)(void *data, const struct stacking_frame *frames, size_t count,
		     uint64_t time_ns, const struct stacking_step *step);
	void (*close)(void *data, size_t count, uint64_t time_ns);
	void *data;
};

/* All-zero is a thread of which nothing is known yet. */
struct stacking {
	VEC(uint32_t) open;              /* nodes, from below the process to the leaf */
	VEC(struct stacking_frame) path; /* the other way round */
	uint64_t end_ns;                 /* until then what is open is known to be */
};

void stacking_release(struct stacking *s);
/* The next stack; in order of time. 0 or -ENOMEM. */
int stacking_step(struct stacking *s, const struct profile *p, const struct stacking_step *step,
		  const struct stacking_sink *sink);
void stacking_end(struct stacking *s, const struct stacking_sink *sink);
