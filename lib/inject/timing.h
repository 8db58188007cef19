/* SPDX-License-Identifier: Apache-2.0 */
/* What libraries that tell of the device's times share: whether that is asked for, clocks, and threads. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Is somebody there who asks for times? */
bool timing_is_wanted(void);

/* CLOCK_MONOTONIC. */
uint64_t timing_now(void);

/* What there is to add to times by a device's clock in nanoseconds: somewhere from @low to @high. All-zero is not known. */
struct timing_tie {
	int64_t low, high,
		offset; /* offset: what is taken to be so, and changes no more than it must */
	uint64_t at_ns;
};
/* A moment by the device's clock lies between two by ours. */
void timing_tie(struct timing_tie *tie, uint64_t before_ns, uint64_t after_ns, uint64_t device_ns);
/* What is true of all moments so far; and how far from the truth it can be. */
static inline int64_t timing_offset(const struct timing_tie *tie)
{
	return tie->offset;
}
static inline uint64_t timing_doubt(const struct timing_tie *tie)
{
	return (uint64_t)(tie->high - tie->low);
}

/* Numbers of ours for the program's threads, which recorders know by other numbers in another namespace: a thread
 * introduces itself by a message that it sends. */
uint32_t timing_thread(void);
void timing_introduce_thread(void);
