/* SPDX-License-Identifier: Apache-2.0 */
/* Between mm and the library with its third multiplication. */
#pragma once

#include "opencl.h"

#define MM_TILE    16
#define MM_COLUMNS 4

struct mm_version {
	const char *kernel_name;
	cl_kernel kernel;
	cl_ulong launches, device_ns;
};

/* Enqueue one multiplication of matrices of @size. */
typedef void (*mm_multiply)(struct mm_version *version, cl_command_queue queue, size_t size,
			    cl_event *event);

/* The library exports this one variable: its function has no name there. */
struct mm_plugin {
	mm_multiply multiply;
};
