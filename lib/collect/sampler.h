/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event that makes CPU samples: a perf event per CPU with our program on it, or, for who may not
 * load programs, with a ring of its own, whose records become the same events that the program would
 * have sent. Knows no target; what the program needs to know of them, it does.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "bpf/events.h"
#include "collect/event_kind.h"
#include "collect/perf.h"
#include "collect/ring.h"

#include <stdbool.h>
#include <stdint.h>

struct bpf_link;
struct perf_sample_buffers;
struct programs;

#define SAMPLER_FREQUENCY 99 /* a second: as usual for flame graphs, and not in step with timers */

struct sampler_options {
	const char *event;          /* NULL: cycles where there is a PMU, else cpu-clock */
	uint64_t frequency, period; /* one of them, or neither for the usual */
	struct perf_scope scope;
	/* With rings; of the stacks are copies taken (STACK_MODE_TABLE), by frame pointers, or none. */
	bool with_rings;
	enum stack_mode stacks;
	bool no_children;
	bool at_exec; /* begin when the thread, which is one, execs */
};

struct sampler {
	uint32_t number;      /* of its event, from 0 on */
	struct sampler *next; /* of the next event; owned */
	struct event_kind kind;
	bool has_no_pmu;            /* cycles were wanted and are not to be had */
	bool is_user_only;          /* the kernel is not ours to look at */
	uint64_t frequency, period; /* one of them is 0 */
	struct perf_events events;
	VEC(struct bpf_link *) links;

	/* With rings. */
	uint64_t sample_type;
	bool at_exec, has_lost_count;
	uint64_t lost; /* as the rings tell */
	struct perf_sample_buffers *buffers;
};

int sampler_open(struct sampler *ret, const struct sampler_options *opt, struct err *err);
/* One more event; all that follows is of all of them. */
int sampler_add(struct sampler *s, const struct sampler_options *opt, struct err *err);
/* From here on samples come. @programs: those that take them, or NULL with rings. */
int sampler_start(struct sampler *s, const struct programs *programs, struct err *err);
/* Pause, and go on. */
int sampler_pause(const struct sampler *s, bool is_paused);
void sampler_close(struct sampler *s);
DEFINE_CLEANUP_EMBEDDED(sampler_close, struct sampler)

/* Give what is in the rings to @fn, as events of our programs; none without rings. */
int sampler_drain(struct sampler *s, ring_fn fn, void *data);

/* Samples that did not fit into the rings, and what was none. */
uint64_t sampler_lost(const struct sampler *s);
uint64_t sampler_malformed(const struct sampler *s);
/* Samples that stand for one second of CPU time; 0: they do not stand for time. */
uint64_t sampler_rate(const struct sampler *s);

/* The kernel's limit, which it may lower when samples take too long; 0: not known. */
uint64_t sampler_max_frequency(void);
