/* SPDX-License-Identifier: Apache-2.0 */
/* What the mock of CUPTI sees of the mock of the driver. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct fake_cuda_call {
	uint32_t id, correlation;
	const char *name;
	const void *parameters;
	const char *symbol;
	void *context;
	const int *result; /* when it returns; NULL: it begins */
};

/* A node of a graph begins with its number. */
struct fake_cuda_node {
	const uint64_t *node, *original; /* that it is copied from; NULL: it is new */
	int type;                        /* CUgraphNodeType */
};

struct fake_cuda_module {
	const void *image;
	size_t size; /* 0: no cubin */
};

enum fake_work_kind {
	FAKE_WORK_KERNEL,
	FAKE_WORK_COPY,
	FAKE_WORK_FILL,
};

struct fake_cuda_work {
	uint32_t correlation;
	enum fake_work_kind kind;
	uint32_t device, stream;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t bytes;
	uint32_t detail;
	const char *name;
	uint64_t node;
	struct fake_cuda_module module; /* of a kernel */
};

extern void (*fake_cuda_call_hook)(const struct fake_cuda_call *call);
/* A module has been loaded, or is about to be unloaded. */
extern void (*fake_cuda_module_hook)(const struct fake_cuda_module *module, int is_loaded);
/* It is about to be destroyed. */
extern void (*fake_cuda_context_hook)(void *context);
extern void (*fake_cuda_node_hook)(const struct fake_cuda_node *node);
extern void (*fake_cuda_work_hook)(const struct fake_cuda_work *work);
