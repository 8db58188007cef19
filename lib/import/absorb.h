/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event of a Chrome trace into the trace in memory: what kind it is, whose lane or queue, which
 * of its arguments stay. Knows nothing of JSON.
 */
#pragma once

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "import/classify.h"
#include "import/event.h"
#include "import/trace.h"

/* What is remembered from one event to the next. */
struct absorb {
	struct trace *trace;
	VEC(uint8_t) classes; /* enum event_class + 1 by category (string); 0: not asked yet */
	struct strbuf last_pid, last_tid; /* most events are on the lane of the one before */
	uint32_t last_lane;
	bool has_last;
	struct hash stack_paths;  /* "Call stack" (string) -> path */
	struct hash python_lanes; /* Python id -> lane, of functions without a thread's number */
	uint32_t python_roots;
	struct strbuf scratch;
	struct strbuf joined;
};

void absorb_init(struct absorb *a, struct trace *trace);
void absorb_release(struct absorb *a);

/* 0: kept or of no interest; 1: dropped, and why in @ret_why; negative errno. */
int absorb_event(struct absorb *a, struct event *e, const char **ret_why);
