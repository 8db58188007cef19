/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was called from what: on one lane an event stands on those that contain it in time. Gives each
 * host event its path from the root, and each moment of a lane the path it was in.
 */
#pragma once

#include "base/vec.h"
#include "import/trace.h"

#include <stdbool.h>
#include <stdint.h>

struct open_event {
	int64_t end_ns;
	uint32_t event;
	uint32_t path;
	uint32_t detail; /* of the innermost op up to here */
	bool is_call_like;
};

struct span_ns {
	int64_t start_ns, end_ns;
	uint32_t path;
	uint32_t event; /* the innermost */
};

/* A lane walked in time. */
struct sweep {
	struct nest *nest;
	uint32_t lane;
	size_t next;    /* in the lane's order */
	int64_t now_ns; /* up to here spans were given out */
	VEC(struct open_event) open;
	unsigned overlaps; /* open events that outlast the one below them */
	struct span_ns held;
	bool is_counted; /* clipped and overlapping ones are counted in the trace */
};

/* Waits for autograd's engine: a call that other threads work for. */
struct engine_wait {
	int64_t start_ns, end_ns, longest_end_ns; /* the last: of all up to this one */
	uint32_t event;
};

struct nest {
	struct trace *trace;
	int64_t tolerance_ns;   /* a child that ends this much later was rounded */
	VEC(uint8_t) states;    /* of lanes */
	VEC(uint8_t) is_engine; /* lanes that evaluate autograd's graph */
	VEC(struct engine_wait) waits;
};

int nest_init(struct nest *n, struct trace *t);
void nest_release(struct nest *n);
/* Sets the path of every host event, and of calls `base` to the detail of the op around them. */
int nest_all(struct nest *n);

void sweep_init(struct sweep *s, struct nest *n, uint32_t lane);
void sweep_release(struct sweep *s);
/* The next span in which something was open; neighbours of the same path are one. 1, 0 at the end,
 * -ENOMEM. */
int sweep_next(struct sweep *s, struct span_ns *ret);
