/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions with the names and signatures of those that are probed, and some of what real ones do:
 * they look at their arguments, move them on and call others. Some are loops on purpose: a probe must
 * be hit once a call.
 */
#include "library.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT enqueue_ndrange_fn clEnqueueNDRangeKernel;
EXPORT enqueue_map_fn clEnqueueMapBuffer;
EXPORT create_kernel_fn clCreateKernel;
EXPORT create_source_fn clCreateProgramWithSource;
EXPORT create_queue_fn clCreateCommandQueueWithProperties;

extern volatile uint64_t library_sum;
EXPORT volatile uint64_t library_sum;

__attribute__((noinline)) static int add(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
					 uint64_t f, uint64_t g, uint64_t h)
{
	library_sum += a + b + c + d + e + f + g + h;
	return 0;
}

int clEnqueueNDRangeKernel(void *queue, void *kernel, uint32_t dimensions, const size_t *offset,
			   const size_t *global, const size_t *local, uint32_t wait_count,
			   void *const *waits, void **event)
{
	for (uint32_t i = 0; i < wait_count; i++)
		library_sum += (uintptr_t)waits[i];
	if (event)
		*event = kernel;
	return add((uintptr_t)queue, (uintptr_t)kernel, dimensions, (uintptr_t)offset,
		   (uintptr_t)global, (uintptr_t)local, wait_count, (uintptr_t)waits);
}

int clEnqueueMapBuffer(void *queue, void *buffer, uint32_t blocking, uint64_t flags, size_t offset,
		       size_t size, uint32_t wait_count, void *const *waits, void **event,
		       int *code)
{
	*code = 0;
	return add((uintptr_t)buffer, (uintptr_t)queue, flags, blocking, size, offset, wait_count,
		   (uintptr_t)waits + (uintptr_t)event);
}

void *clCreateKernel(void *program, const char *name, int *code)
{
	*code = (int)(uintptr_t)name;
	return (char *)program + 1;
}

void *clCreateProgramWithSource(void *context, uint32_t count, const char **strings,
				const size_t *lengths, int *code)
{
	*code = (int)(count + (uintptr_t)strings + (uintptr_t)lengths);
	return (char *)context + 2;
}

void *clCreateCommandQueueWithProperties(void *context, void *device, const uint64_t *properties,
					 int *code)
{
	*code = (int)(uintptr_t)properties;
	return (char *)context + (uintptr_t)device;
}
