/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event that makes CPU samples: one perf event per CPU with our program on it. Knows neither
 * targets nor stacks; the program does.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct bpf_link;
struct programs;

#define SAMPLER_FREQUENCY 99 /* a second: as usual for flame graphs, and not in step with timers */

struct sampler {
	const char *event; /* "cycles" or "cpu-clock" */
	bool has_no_pmu;   /* cycles were wanted and are not to be had */
	uint64_t frequency;
	VEC(int) fds;
	VEC(struct bpf_link *) links;
};

/* @event NULL: cycles where there is a PMU, else cpu-clock. */
int sampler_open(struct sampler *ret, const char *event, uint64_t frequency, struct err *err);
/* From here on samples come. */
int sampler_start(struct sampler *s, const struct programs *programs, struct err *err);
void sampler_close(struct sampler *s);
DEFINE_CLEANUP_EMBEDDED(sampler_close, struct sampler)

/* The kernel's limit, which it may lower when samples take too long; 0: not known. */
uint64_t sampler_max_frequency(void);
