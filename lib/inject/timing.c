/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/timing.h"

#include "inject/batch.h"
#include "inject/channel.h"
#include "inject/watch.h"

#include <time.h>

/* Clocks drift by less than a part in so many; where one is set the tie is made anew. */
#define DRIFT 10000

/* Counts probes on the function below, as the listeners do on theirs. */
EXPORT volatile uint16_t CHANNEL_NAME(timers) __attribute__((section(".probes")));

/* Never called: a probe on it asks for times. */
EXPORT __attribute__((noinline)) void CHANNEL_NAME(times)(void);
void CHANNEL_NAME(times)(void)
{
	__asm__ volatile("nop");
}

static uint32_t threads;
static _Thread_local uint32_t thread, introduced; /* a session's number */

bool timing_is_wanted(void)
{
	return CHANNEL_NAME(timers) != 0;
}

uint64_t timing_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void timing_tie(struct timing_tie *tie, uint64_t before_ns, uint64_t after_ns, uint64_t device_ns)
{
	int64_t low = (int64_t)(before_ns - device_ns), high = (int64_t)(after_ns - device_ns);
	uint64_t age = after_ns > tie->at_ns ? after_ns - tie->at_ns : 0;
	int64_t drift = (int64_t)(age / DRIFT) + 1;
	bool is_old = tie->at_ns && tie->low - drift <= high && tie->high + drift >= low;

	tie->low = is_old && tie->low - drift > low ? tie->low - drift : low;
	tie->high = is_old && tie->high + drift < high ? tie->high + drift : high;
	if (!is_old)
		tie->offset = tie->low + (tie->high - tie->low) / 2;
	else if (tie->offset < tie->low)
		tie->offset = tie->low;
	else if (tie->offset > tie->high)
		tie->offset = tie->high;
	tie->at_ns = after_ns > tie->at_ns ? after_ns : tie->at_ns;
}

uint32_t timing_thread(void)
{
	if (!thread)
		thread = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
	return thread;
}

void timing_introduce_thread(void)
{
	if (introduced == watch_session())
		return;
	introduced = watch_session();
	batch_thread(timing_thread());
}
