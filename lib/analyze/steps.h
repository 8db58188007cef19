/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterations of a loop: as marks tell them, else as the device's work repeats itself. The window of
 * a device goes by marks only; a sequence that was found is there for those who ask.
 */
#pragma once

#include "analyze/tables.h"

/* By begin; borrowed from @a. 0 or -ENOMEM. */
int steps_of(struct analysis *a, const struct step **ret, size_t *ret_count);

/* Finds the leading steps of each process that are a warm-up, where that matters. 0 or -ENOMEM. */
int steps_warm_up(struct step *steps, size_t count);

/* What a step is asked for by: its iteration, else its place counted from 1. */
static inline uint64_t step_number(const struct step *steps, size_t i)
{
	return steps[i].iteration ? steps[i].iteration - 1 : i + 1;
}

struct step_totals {
	uint64_t busy_ns;   /* of all devices, each nanosecond of a device once */
	uint64_t device_ns; /* of the work launched in it, whenever that ran */
	uint64_t launches;  /* of that work */
};

/* For each of @steps; the devices and threads that pass @f only. 0 or -ENOMEM. */
struct filter;
int steps_sum(struct analysis *a, const struct filter *f, const struct step *steps, size_t count,
	      struct step_totals *ret);
