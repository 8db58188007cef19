/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads of a kernel its registers let run at a time. Shared memory and block sizes, which differ
 * by launch, are not considered. */
#pragma once

#include "device/device.h"

struct device_occupancy {
	uint32_t possible, most; /* by this kernel's registers; by the hardware */
	const char *unit;        /* "warps of a multiprocessor" */
};

/* -ENOENT where the processor's limits are not known here. */
int device_occupancy(const struct device_object *o, const struct device_facts *facts,
		     struct device_occupancy *ret);
