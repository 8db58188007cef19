/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The little of OpenCL that the library uses: of cl.h, Intel's part of cl_ext.h and cl_layer.h; test/inject compares
 * what is in the headers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int32_t cl_result;
typedef uint32_t cl_number;

#define CL_OK                   0
#define CL_WRONG_VALUE          (-30)       /* CL_INVALID_VALUE */
#define CL_NOT_PROFILED         (-7)        /* CL_PROFILING_INFO_NOT_AVAILABLE */
#define CL_COMPLETE_STATUS      0           /* CL_COMPLETE */
#define CL_QUEUE_PROFILING      (1ull << 1) /* CL_QUEUE_PROFILING_ENABLE */
#define CL_QUEUE_PROPERTIES_KEY 0x1093      /* CL_QUEUE_PROPERTIES */
#define CL_QUEUE_PAIRS          0x1098      /* CL_QUEUE_PROPERTIES_ARRAY */
#define CL_QUEUE_DEVICE_KEY     0x1091      /* CL_QUEUE_DEVICE */
#define CL_EVENT_QUEUE          0x11D0      /* CL_EVENT_COMMAND_QUEUE */
#define CL_TIME_QUEUED          0x1280      /* CL_PROFILING_COMMAND_QUEUED */
#define CL_TIME_START           0x1282
#define CL_TIME_END             0x1283
#define CL_PROGRAM_REFERENCES   0x1160 /* CL_PROGRAM_REFERENCE_COUNT */
#define CL_PROGRAM_DEVICE_COUNT 0x1162 /* CL_PROGRAM_NUM_DEVICES */
#define CL_PROGRAM_DEVICE_LIST  0x1163 /* CL_PROGRAM_DEVICES */
#define CL_KERNEL_NAME          0x1190 /* CL_KERNEL_FUNCTION_NAME */
#define CL_KERNEL_REFERENCES    0x1192 /* CL_KERNEL_REFERENCE_COUNT */
#define CL_KERNEL_OF            0x1194 /* CL_KERNEL_PROGRAM */
#define CL_DEVICE_PCI           0x410F /* CL_DEVICE_PCI_BUS_INFO_KHR: four numbers */
/* Of Intel's driver, in no header: the file that its debugger reads, and where a kernel's code is. */
#define CL_PROGRAM_DEBUG       0x4100 /* CL_PROGRAM_DEBUG_INFO_INTEL: for each device */
#define CL_PROGRAM_DEBUG_SIZES 0x4101
#define CL_KERNEL_BINARY       0x407D  /* CL_KERNEL_BINARY_PROGRAM_INTEL */
#define CL_KERNEL_ADDRESS      0x10010 /* CL_KERNEL_BINARY_GPU_ADDRESS_INTEL */

/* Places in the table of a layer, which is that of drivers: cl_icd_dispatch. */
enum cl_place {
	CL_PLACE_GET_DEVICE_INFO = 3,
	CL_PLACE_QUEUE = 9,
	CL_PLACE_GET_QUEUE_INFO = 12,
	CL_PLACE_RELEASE_PROGRAM = 29,
	CL_PLACE_BUILD_PROGRAM = 30,
	CL_PLACE_GET_PROGRAM_INFO = 32,
	CL_PLACE_CREATE_KERNEL = 34,
	CL_PLACE_CREATE_KERNELS = 35,
	CL_PLACE_RELEASE_KERNEL = 37,
	CL_PLACE_GET_KERNEL_INFO = 39,
	CL_PLACE_GET_EVENT_INFO = 42,
	CL_PLACE_RELEASE_EVENT = 44,
	CL_PLACE_GET_PROFILING_INFO = 45,
	CL_PLACE_READ = 48,
	CL_PLACE_WRITE = 49,
	CL_PLACE_COPY = 50,
	CL_PLACE_ENQUEUE = 59,
	CL_PLACE_TASK = 60,
	CL_PLACE_SET_EVENT_CALLBACK = 81,
	CL_PLACE_FILL = 102,
	CL_PLACE_QUEUE_PROPERTIES = 123,
	CL_PLACE_SVM_COPY = 129,
	CL_PLACE_SVM_FILL = 130,
	CL_PLACE_CLONE_KERNEL = 137,
	CL_PLACES = 149,
};

#define CL_LAYER_VERSION       0x4240 /* CL_LAYER_API_VERSION */
#define CL_LAYER_TITLE         0x4241 /* CL_LAYER_NAME */
#define CL_LAYER_VERSION_VALUE 100
