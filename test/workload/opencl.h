/* SPDX-License-Identifier: Apache-2.0 */
/* What the OpenCL workloads have in common: errors end the program, and a device to work on. */
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline void cl_check(cl_int code, const char *what)
{
	if (code == CL_SUCCESS)
		return;
	fprintf(stderr, "%s: OpenCL error %d\n", what, code);
	exit(1);
}

/* The first device of POCL, or else of any platform that has one. Exit status 77 without any. */
static inline cl_device_id cl_first_device(void)
{
	cl_platform_id platforms[16];
	cl_uint count = 0;
	cl_device_id found = NULL;

	clGetPlatformIDs(16, platforms, &count);
	for (cl_uint i = 0; i < count && i < 16; i++) {
		char name[128] = "";
		cl_device_id device;
		if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL) !=
		    CL_SUCCESS)
			continue;
		clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
		if (!found || strcmp(name, "Portable Computing Language") == 0)
			found = device;
	}
	if (!found) {
		fprintf(stderr, "no OpenCL device (package pocl-opencl-icd)\n");
		exit(77);
	}
	return found;
}

static inline double now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
