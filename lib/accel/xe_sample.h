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

/* @device: the DEVICE record's number. @host is borrowed. */
int xe_samples_new(struct xe_samples **ret, const struct accel_host *host, uint32_t device);
void xe_samples_free(struct xe_samples *s);
DEFINE_CLEANUP(xe_samples_free, struct xe_samples *)

/* Everything that was added up since the last call, which was taken from @time_ns on for @interval_ns. Errors are the
 * writer's. */
int xe_samples_write(struct xe_samples *s, struct xe_stalls *stalls, struct xe_code *code,
		     uint64_t time_ns, uint64_t interval_ns);
struct xe_samples_stats xe_samples_stats(const struct xe_samples *s);
