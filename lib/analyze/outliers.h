/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that took so much longer than all other work of its name that it says nothing of it: the
 * first collective of a rank that waits until the others have begun, or the last one. Private to
 * this module.
 */
#pragma once

#include "analyze/tables.h"

/* Of which so many others tell what is usual. */
#define OUTLIER_OTHERS 4
/* How many times the median it takes. */
#define OUTLIER_TIMES 100

/* The first and the last one of a name on a device are looked at. 0 or -ENOMEM. */
int analysis_find_outliers(struct analysis *a);
/* NULL: it is none. */
const struct outlier *analysis_outlier(const struct analysis *a, uint32_t op);
