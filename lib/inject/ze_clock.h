/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks of Level Zero's devices, tied to CLOCK_MONOTONIC: they count ticks, in kernels' timestamps with only some of
 * their bits. One thread at a time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ZE_CLOCKS_MAX 64

/* The number of a device's clock; ZE_CLOCKS_MAX: it has none, or there are too many. */
uint32_t ze_clock_of(void *device);
/* Look what it is now: before times are asked for that are of the last minute. */
bool ze_clock_look(uint32_t clock);
/* When a kernel's timestamp was. */
uint64_t ze_clock_time(uint32_t clock, uint64_t kernel_ticks);
/* Nanoseconds between two of them. */
uint64_t ze_clock_span(uint32_t clock, uint64_t start, uint64_t end);
