/* SPDX-License-Identifier: Apache-2.0 */
/* From what a device sample hit to its code; private to this module. */
#pragma once

#include "analyze/device.h"
#include "analyze/tables.h"
#include "device/device.h"

/* As device_resolve(); -ENOENT also where there is no code. */
int analysis_place_resolve(struct analysis *a, const struct place *p, struct device_place *ret);
