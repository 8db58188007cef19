/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of OpenCL that are led through the library, and those that it calls besides, with their places in a
 * layer's table. REAL() is what is called then.
 */
#pragma once

#include "inject/hook.h"
#include "inject/opencl_api.h"

/* Work for the device: all end with what it waits for, and the event that the caller wants, if any. */
#define OPENCL_WORK(X)                                                                           \
	X(clEnqueueNDRangeKernel, CL_PLACE_ENQUEUE, cl_result,                                   \
	  (void *queue, void *kernel, cl_number dimensions, const size_t *offset,                \
	   const size_t *global, const size_t *local, cl_number count, void *const *events,      \
	   void **event))                                                                        \
	X(clEnqueueTask, CL_PLACE_TASK, cl_result,                                               \
	  (void *queue, void *kernel, cl_number count, void *const *events, void **event))       \
	X(clEnqueueReadBuffer, CL_PLACE_READ, cl_result,                                         \
	  (void *queue, void *buffer, cl_number blocking, size_t offset, size_t size, void *to,  \
	   cl_number count, void *const *events, void **event))                                  \
	X(clEnqueueWriteBuffer, CL_PLACE_WRITE, cl_result,                                       \
	  (void *queue, void *buffer, cl_number blocking, size_t offset, size_t size,            \
	   const void *from, cl_number count, void *const *events, void **event))                \
	X(clEnqueueCopyBuffer, CL_PLACE_COPY, cl_result,                                         \
	  (void *queue, void *from, void *to, size_t from_offset, size_t to_offset, size_t size, \
	   cl_number count, void *const *events, void **event))                                  \
	X(clEnqueueFillBuffer, CL_PLACE_FILL, cl_result,                                         \
	  (void *queue, void *buffer, const void *pattern, size_t pattern_size, size_t offset,   \
	   size_t size, cl_number count, void *const *events, void **event))                     \
	X(clEnqueueSVMMemcpy, CL_PLACE_SVM_COPY, cl_result,                                      \
	  (void *queue, cl_number blocking, void *to, const void *from, size_t size,             \
	   cl_number count, void *const *events, void **event))                                  \
	X(clEnqueueSVMMemFill, CL_PLACE_SVM_FILL, cl_result,                                     \
	  (void *queue, void *to, const void *pattern, size_t pattern_size, size_t size,         \
	   cl_number count, void *const *events, void **event))

#define OPENCL_LED(X)                                                                     \
	X(clReleaseProgram, CL_PLACE_RELEASE_PROGRAM, cl_result, (void *program))         \
	X(clBuildProgram, CL_PLACE_BUILD_PROGRAM, cl_result,                              \
	  (void *program, cl_number count, void *const *devices, const char *options,     \
	   void *notify, void *data))                                                     \
	X(clCreateKernel, CL_PLACE_CREATE_KERNEL, void *,                                 \
	  (void *program, const char *name, cl_result *error))                            \
	X(clCreateKernelsInProgram, CL_PLACE_CREATE_KERNELS, cl_result,                   \
	  (void *program, cl_number room, void **kernels, cl_number *count))              \
	X(clReleaseKernel, CL_PLACE_RELEASE_KERNEL, cl_result, (void *kernel))            \
	X(clCloneKernel, CL_PLACE_CLONE_KERNEL, void *, (void *kernel, cl_result *error)) \
	X(clCreateCommandQueue, CL_PLACE_QUEUE, void *,                                   \
	  (void *context, void *device, uint64_t properties, cl_result *error))           \
	X(clCreateCommandQueueWithProperties, CL_PLACE_QUEUE_PROPERTIES, void *,          \
	  (void *context, void *device, const uint64_t *properties, cl_result *error))    \
	X(clGetCommandQueueInfo, CL_PLACE_GET_QUEUE_INFO, cl_result,                      \
	  (void *queue, cl_number what, size_t room, void *value, size_t *size))          \
	X(clGetEventProfilingInfo, CL_PLACE_GET_PROFILING_INFO, cl_result,                \
	  (void *event, cl_number what, size_t room, void *value, size_t *size))          \
	OPENCL_WORK(X)

#define OPENCL_CALLED(X)                                                                           \
	X(clGetKernelInfo, CL_PLACE_GET_KERNEL_INFO, cl_result,                                    \
	  (void *kernel, cl_number what, size_t room, void *value, size_t *size))                  \
	X(clGetProgramInfo, CL_PLACE_GET_PROGRAM_INFO, cl_result,                                  \
	  (void *program, cl_number what, size_t room, void *value, size_t *size))                 \
	X(clGetDeviceInfo, CL_PLACE_GET_DEVICE_INFO, cl_result,                                    \
	  (void *device, cl_number what, size_t room, void *value, size_t *size))                  \
	X(clGetEventInfo, CL_PLACE_GET_EVENT_INFO, cl_result,                                      \
	  (void *event, cl_number what, size_t room, void *value, size_t *size))                   \
	X(clSetEventCallback, CL_PLACE_SET_EVENT_CALLBACK, cl_result,                              \
	  (void *event, cl_result status, void (*call)(void *event, cl_result status, void *data), \
	   void *data))                                                                            \
	X(clReleaseEvent, CL_PLACE_RELEASE_EVENT, cl_result, (void *event))

#define OPENCL_DECLARE(name, place, type, parameters) type our_##name parameters;
OPENCL_LED(OPENCL_DECLARE)
#define OPENCL_TYPE(name, place, type, parameters) typedef type(*name##_fn) parameters;
OPENCL_LED(OPENCL_TYPE)
OPENCL_CALLED(OPENCL_TYPE)
#define OPENCL_NUMBER(name, place, type, parameters) NUMBER_##name,
enum {
	OPENCL_LED(OPENCL_NUMBER) LED_COUNT,
	OPENCL_CALLED(OPENCL_NUMBER) HOOK_COUNT
};

extern struct hook opencl_hooks[HOOK_COUNT];

#define REAL(name) ((name##_fn)__atomic_load_n(&opencl_hooks[NUMBER_##name].real, __ATOMIC_ACQUIRE))
