/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/ze_clock.h"

#include "inject/timing.h"
#include "inject/ze_calls.h"

#define HERTZ_MIN 10000
/* Asking takes some microseconds, unless the thread loses its CPU meanwhile. */
#define TRIES    4
#define DOUBT_NS 20000

struct device {
	void *handle;
	uint64_t hertz, mask, kernel_mask;
	uint64_t ticks, raw; /* as of the last look, with and without what has wrapped */
	struct timing_tie tie;
};

static struct device devices[ZE_CLOCKS_MAX];
static uint32_t device_count;

uint32_t ze_clock_of(void *handle)
{
	struct ze_device_words properties = { .type = ZE_TYPE_DEVICE_HERTZ };
	uint32_t i = 0;

	while (i < device_count && devices[i].handle != handle)
		i++;
	if (i < device_count || i == ZE_CLOCKS_MAX)
		return i;
	if (!REAL(zeDeviceGetProperties) ||
	    REAL(zeDeviceGetProperties)(handle, &properties) != ZE_OK)
		return ZE_CLOCKS_MAX;
	devices[i] = (struct device){
		.handle = handle,
		/* Drivers of before 1.2 tell nanoseconds instead. */
		.hertz = properties.timer < HERTZ_MIN && properties.timer
				 ? 1000000000 / properties.timer
				 : properties.timer,
		.mask = properties.bits < 64 ? (1ull << properties.bits) - 1 : UINT64_MAX,
		.kernel_mask = properties.kernel_bits < 64 ? (1ull << properties.kernel_bits) - 1
							   : UINT64_MAX,
	};
	device_count++;
	return i;
}

static uint64_t ns_of(const struct device *d, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * 1000000000 / d->hertz);
}

bool ze_clock_look(uint32_t clock)
{
	struct device *d = &devices[clock];
	uint64_t before, after, host, raw;

	if (!d->hertz || !REAL(zeDeviceGetGlobalTimestamps))
		return false;
	for (int i = 0; i < TRIES; i++) {
		before = timing_now();
		if (REAL(zeDeviceGetGlobalTimestamps)(d->handle, &host, &raw) != ZE_OK)
			return false;
		after = timing_now();
		d->ticks += (raw - d->raw) & d->mask;
		d->raw = raw;
		timing_tie(&d->tie, before, after, ns_of(d, d->ticks));
		if (timing_doubt(&d->tie) < DOUBT_NS)
			break;
	}
	return true;
}

/* It is within half of what its bits can count from now. */
uint64_t ze_clock_time(uint32_t clock, uint64_t kernel_ticks)
{
	const struct device *d = &devices[clock];
	uint64_t ago = (d->raw - kernel_ticks) & d->kernel_mask;
	uint64_t ticks = ago <= d->kernel_mask / 2 ? d->ticks - ago
						   : d->ticks + ((d->kernel_mask - ago) + 1);

	return ns_of(d, ticks) + (uint64_t)timing_offset(&d->tie);
}

uint64_t ze_clock_span(uint32_t clock, uint64_t start, uint64_t end)
{
	const struct device *d = &devices[clock];

	return ns_of(d, (end - start) & d->kernel_mask);
}
