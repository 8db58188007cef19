/* SPDX-License-Identifier: Apache-2.0 */
/* The runtimes that accel.c lists. */
#pragma once

#include "accel/accel.h"

extern const struct accel_ops opencl_ops;
extern const struct accel_ops cuda_ops;
extern const struct accel_ops ze_ops;
extern const struct accel_ops xe_ops;

/* accel.c's list, by a number from 0; NULL behind the last. */
const struct accel_ops *accel_runtime(size_t number);
/* NULL: it has no such option. */
const struct accel_option *accel_option(const struct accel_ops *ops, const char *key);
