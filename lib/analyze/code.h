/* SPDX-License-Identifier: Apache-2.0 */
/* From what a device sample hit to its code; private to this module. */
#pragma once

#include "analyze/tables.h"
#include "device/device.h"

/* The code object in row @row, opened; NULL where the capture does not hold one that is known here. */
struct device_object *analysis_code(struct analysis *a, uint32_t row);
/* As device_resolve(); -ENOENT also where there is no code. */
int analysis_place_resolve(struct analysis *a, const struct place *p, struct device_place *ret);
/* The file that a line's code is in, as people call it: POCL compiles from a file of its own that has
 * another name each time, and is gone when it is done. */
const char *analysis_source_name(const char *file);
