/* SPDX-License-Identifier: Apache-2.0 */
/* What accelerators can do at best, by the names that their runtimes give them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct device_peaks {
	const char *name; /* a part of the device's name */
	const char *arch; /* "sm90"; "" */
	uint32_t units;   /* multiprocessors, compute units */
	/* Dense TFLOP/s; 0: no such units. fp16 is as fast as bf16, 8 bit integers as fp8. fp32 and
	 * fp64 are those of the ordinary units. */
	double fp8, tf32, bf16, fp32, fp64;
	double bytes; /* TB/s */
};

/* NULL: not a device that is known. */
const struct device_peaks *device_peaks_find(const char *name);

/* What an import says of a device whose product name it does not know. */
struct device_clocks {
	const char *runtime, *name; /* "cuda", "CUDA 90": its architecture at the end */
	uint64_t units;
	uint64_t clock_khz, memory_khz, bus_bits; /* 0: not known */
};
/* From the architecture's operations a clock, as Proton's viewer does. False: not one that is
 * known. */
bool device_peaks_by_clocks(const struct device_clocks *c, struct device_peaks *ret);
