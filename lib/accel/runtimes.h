/* SPDX-License-Identifier: Apache-2.0 */
/* The runtimes that accel.c lists. */
#pragma once

#include "accel/accel.h"

extern const struct accel_ops opencl_ops;
extern const struct accel_ops cuda_ops;
