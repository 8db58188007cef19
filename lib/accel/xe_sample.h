/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an interval's EU stalls say, into the capture: PC_SAMPLE records of kernels. Samples of code that nobody told of
 * (the driver's own kernels, other programs') and of addresses that several processes use are kept, under names that say
 * so.
 */
#pragma once

#include "accel/accel.h"
#include "accel/xe_code.h"
#include "accel/xe_stall.h"

struct xe_samples;

struct xe_samples_stats {
	uint64_t placed, unknown, several; /* samples */
};

/* @device as in xe_samples_set_device(). @host is borrowed. */
int xe_samples_new(struct xe_samples **ret, const struct accel_host *host, uint32_t device);
void xe_samples_free(struct xe_samples *s);
DEFINE_CLEANUP(xe_samples_free, struct xe_samples *)

/*
 * Everything that was added up since the last call, which was taken from @begin_ns to @end_ns. It waits here until what
 * code there was is known, too. Returns how many different counts that were, or -ENOMEM.
 */
int xe_samples_take(struct xe_samples *s, struct xe_stalls *stalls, uint64_t begin_ns,
		    uint64_t end_ns);
/* Is there something that xe_samples_write() would write? */
bool xe_samples_are_due(const struct xe_samples *s, uint64_t until_ns);
/* What is written from here on is of this device, unless a kernel is known to be of another. */
void xe_samples_set_device(struct xe_samples *s, uint32_t device);
/* Write what was taken until @until_ns: up to then @code is complete. Errors are the writer's. */
int xe_samples_write(struct xe_samples *s, struct xe_code *code, uint64_t until_ns);
/* Of what is unknown is known now what it is: @what, "driver's own code". */
int xe_samples_name_unknown(struct xe_samples *s, const char *what);
struct xe_samples_stats xe_samples_stats(const struct xe_samples *s);
