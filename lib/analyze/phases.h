/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program is at: starting, importing, loading a model, compiling, capturing graphs, warming
 * up, steadily at work. As marks say in so many words, else by what the thread that launches most is
 * in, and by how long its steps take. Each moment is one phase's.
 */
#pragma once

#include "analyze/analyze.h"

enum phase {
	PHASE_START, /* what comes before the first step, or the first launch, and is none of these: */
	PHASE_IMPORT,
	PHASE_LOAD,
	PHASE_COMPILE,
	PHASE_CAPTURE, /* of graphs */
	PHASE_WARMUP,
	PHASE_STEADY,
	PHASE_WORK, /* device work before any step */
	PHASE_END,  /* after all */
	PHASE_COUNT
};

struct phase_summary {
	const char *name;  /* "warm-up" */
	uint64_t begin_ns; /* of its first moment */
	uint64_t ns;
	uint64_t steps, launches;
	uint64_t busy_ns; /* of the process's devices, each nanosecond of a device once */
};

struct phases_summary {
	struct phase_summary list[PHASE_COUNT]; /* those that there are, by begin */
	size_t count;
	uint64_t ns; /* of all */
	uint32_t devices;
	uint32_t pid, rank; /* whose these are; rank + 1, 0: not known */
	bool is_one_of_several;
};

/* For what @filter leaves. -EINVAL for a filter that cannot be understood; -ENOMEM. */
int analysis_phases(struct analysis *a, const struct analysis_filter *filter,
		    struct phases_summary *ret, struct err *err);

/* "warmup", "Warm-up", "phase: compile": whether a mark of that name says what phase it is. */
bool phase_of_mark(const char *name, enum phase *ret);
const char *phase_name(enum phase phase);
