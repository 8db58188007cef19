/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the probed library, with types that need no OpenCL header. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int enqueue_ndrange_fn(void *queue, void *kernel, uint32_t dimensions, const size_t *offset,
			       const size_t *global, const size_t *local, uint32_t wait_count,
			       void *const *waits, void **event);
typedef int enqueue_map_fn(void *queue, void *buffer, uint32_t blocking, uint64_t flags,
			   size_t offset, size_t size, uint32_t wait_count, void *const *waits,
			   void **event, int *code);
typedef void *create_kernel_fn(void *program, const char *name, int *code);
typedef void *create_source_fn(void *context, uint32_t count, const char **strings,
			       const size_t *lengths, int *code);
typedef void *create_queue_fn(void *context, void *device, const uint64_t *properties, int *code);
typedef void event_complete_fn(const char *function, unsigned int line, void *event,
			       const char *message);
