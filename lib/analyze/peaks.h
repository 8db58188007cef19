/* SPDX-License-Identifier: Apache-2.0 */
/* What accelerators can do at best, by the names that their runtimes give them. */
#pragma once

#include <stdint.h>

struct device_peaks {
	const char *name;        /* a part of the device's name */
	const char *arch;        /* "sm90"; "" */
	uint32_t units;          /* multiprocessors, compute units */
	double tf32, bf16, fp32; /* dense TFLOP/s; 0: no such units. fp16 is as fast as bf16 */
	double bytes;            /* TB/s */
};

/* NULL: not a device that is known. */
const struct device_peaks *device_peaks_find(const char *name);
