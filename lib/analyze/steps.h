/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterations of a loop: as marks tell them, else as the device's work repeats itself, in each of the
 * runs that were merged. The window of a device goes by marks only; a sequence that was found is
 * there for those who ask.
 */
#pragma once

#include "analyze/tables.h"

/* By begin; borrowed from @a. 0 or -ENOMEM. */
int steps_of(struct analysis *a, const struct step **ret, size_t *ret_count);

/* By begin. 0 or -ENOMEM. */
int steps_sort(struct step *steps, size_t count);

/* Finds the leading steps of each process that are a warm-up, where that matters. 0 or -ENOMEM. */
int steps_warm_up(struct step *steps, size_t count);

/* What a step is asked for by: its iteration, else its place counted from 1. */
static inline uint64_t step_number(const struct step *steps, size_t i)
{
	return steps[i].iteration ? steps[i].iteration - 1 : i + 1;
}

/* Whether this is the same program several times, merged. */
bool steps_have_runs(const struct analysis *a);

/* Of the same program several times, merged, the one that a process is of; from 0. */
static inline uint32_t steps_run(const struct analysis *a, uint32_t process)
{
	uint32_t run = a->processes.data[process].run;
	return run ? run - 1 : 0;
}

struct step_totals {
	uint64_t busy_ns;   /* of all devices, each nanosecond of a device once */
	uint64_t device_ns; /* of the work launched in it, whenever that ran */
	uint64_t launches;  /* of that work */
};
