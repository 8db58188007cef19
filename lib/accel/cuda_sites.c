/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is watched of CUDA: the driver's library, through which every program goes, and the launches
 * of the runtime's where it is a library of its own (signatures: cuda.h and cuda_runtime_api.h of
 * CUDA 13). Most functions that take a stream exist twice, for programs compiled to give each thread
 * a default stream of its own: the second ends in _ptsz, or _ptds where it takes no stream.
 */
#include "accel/cuda.h"

#include "accel/site_table.h"
#include "inject/message.h"

#define DRIVER  "libcuda"
#define RUNTIME "libcudart"

/* The five words of a launch's configuration that hold its sizes and its stream. */
#define CONFIG(arg) WORDS(arg, 5)

/* Longest name taken along: those of templates reach some thousand characters. */
#define NAME_MAX_BYTES 16384
/* Of a module's image; what is larger is looked at in the target's memory, where it mostly stays. */
#define IMAGE_WINDOW_BYTES (256u << 10)

enum cuda_transfer_kind {
	TRANSFER_COPY,
	TRANSFER_COPY_ASYNC,
	TRANSFER_TO_DEVICE,
	TRANSFER_TO_DEVICE_ASYNC,
	TRANSFER_TO_HOST,
	TRANSFER_TO_HOST_ASYNC,
	TRANSFER_ON_DEVICE,
	TRANSFER_ON_DEVICE_ASYNC,
	TRANSFER_PEER,
	TRANSFER_PEER_ASYNC,
	TRANSFER_SHAPED,
	TRANSFER_SHAPED_ASYNC,
	TRANSFER_SET8,
	TRANSFER_SET8_ASYNC,
	TRANSFER_SET16,
	TRANSFER_SET16_ASYNC,
	TRANSFER_SET32,
	TRANSFER_SET32_ASYNC,
	TRANSFER_KINDS
};

/* Titles as CUPTI and Kineto give them, where the direction is known. */
static const struct cuda_transfer transfers[TRANSFER_KINDS] = {
	[TRANSFER_COPY] = { "Memcpy", LAUNCH_COPY, 1, false },
	[TRANSFER_COPY_ASYNC] = { "Memcpy", LAUNCH_COPY, 1, true },
	[TRANSFER_TO_DEVICE] = { "Memcpy HtoD", LAUNCH_COPY, 1, false },
	[TRANSFER_TO_DEVICE_ASYNC] = { "Memcpy HtoD", LAUNCH_COPY, 1, true },
	[TRANSFER_TO_HOST] = { "Memcpy DtoH", LAUNCH_COPY, 1, false },
	[TRANSFER_TO_HOST_ASYNC] = { "Memcpy DtoH", LAUNCH_COPY, 1, true },
	[TRANSFER_ON_DEVICE] = { "Memcpy DtoD", LAUNCH_COPY, 1, false },
	[TRANSFER_ON_DEVICE_ASYNC] = { "Memcpy DtoD", LAUNCH_COPY, 1, true },
	[TRANSFER_PEER] = { "Memcpy PtoP", LAUNCH_COPY, 1, false },
	[TRANSFER_PEER_ASYNC] = { "Memcpy PtoP", LAUNCH_COPY, 1, true },
	[TRANSFER_SHAPED] = { "Memcpy 2D/3D", LAUNCH_COPY, 0, false },
	[TRANSFER_SHAPED_ASYNC] = { "Memcpy 2D/3D", LAUNCH_COPY, 0, true },
	[TRANSFER_SET8] = { "Memset", LAUNCH_FILL, 1, false },
	[TRANSFER_SET8_ASYNC] = { "Memset", LAUNCH_FILL, 1, true },
	[TRANSFER_SET16] = { "Memset", LAUNCH_FILL, 2, false },
	[TRANSFER_SET16_ASYNC] = { "Memset", LAUNCH_FILL, 2, true },
	[TRANSFER_SET32] = { "Memset", LAUNCH_FILL, 4, false },
	[TRANSFER_SET32_ASYNC] = { "Memset", LAUNCH_FILL, 4, true },
};

const struct cuda_transfer *cuda_transfer(const struct probe_site *site)
{
	unsigned int number = (site->id & SITE_MASK) - SITE_TRANSFERS;

	return number < TRANSFER_KINDS ? &transfers[number] : NULL;
}

#define SITE(lib, number, function, how, ...)                           \
	{                                                               \
		.library = (lib), .symbol = (function), .id = (number), \
		.flags = (how) | PROBE_OPTIONAL, .value = {             \
			__VA_ARGS__                                     \
		}                                                       \
	}
#define CALL(number, function, ...) SITE(DRIVER, number, function, PROBE_STACK, __VA_ARGS__)
#define WORK(number, function, ...) \
	SITE(DRIVER, number, function, PROBE_STACK | PROBE_UNLESS_TOLD, __VA_ARGS__)
/* A call and its variant for per-thread default streams. */
#define CALLS(number, function, suffix, ...) \
	CALL(number, function, __VA_ARGS__), \
		CALL((number) | SITE_PER_THREAD, function suffix, __VA_ARGS__)
#define WORKS(number, function, suffix, ...) \
	WORK(number, function, __VA_ARGS__), \
		WORK((number) | SITE_PER_THREAD, function suffix, __VA_ARGS__)
#define TRANSFER(number, function, amount) \
	WORKS(SITE_TRANSFERS + (number), function, "_ptds", ARG(amount))
#define TRANSFER_STREAM(number, function, amount, stream) \
	WORKS(SITE_TRANSFERS + (number), function, "_ptsz", ARG(amount), ARG(stream))
/* A wait: its beginning with the stack, its end when it returns. */
#define WAIT(function, suffix, ...)                                               \
	CALLS(SITE_SYNC, function, suffix, __VA_ARGS__),                          \
		SITE(DRIVER, SITE_SYNC_END, function, PROBE_AT_RETURN, RETURN32), \
		SITE(DRIVER, SITE_SYNC_END, function suffix, PROBE_AT_RETURN, RETURN32)

#define FROM_RUNTIME (PROBE_STACK | PROBE_UNLESS_TOLD)

/* Of its argument. */
#define LASTING(number, function, by)                                                             \
	{                                                                                         \
		.library = DRIVER, .symbol = (function), .id = (number), .flags = PROBE_OPTIONAL, \
		.value = { ARG(0) }, .lasts = (by)                                                \
	}
#define RESULT(number, function, ...)                            \
	.library = DRIVER, .symbol = (function), .id = (number), \
	.flags = PROBE_AT_RETURN | PROBE_OPTIONAL, .value = { __VA_ARGS__ }
/* place of the module, image, the module, error */
#define MODULE(function)                                                         \
	{                                                                        \
		RESULT(SITE_MODULE, function, ARG(0), ARG(1), OUT(0), RETURN32), \
			.text = { .kind = PROBE_TEXT_WINDOW,                     \
				  .pointer = 1,                                  \
				  .max = IMAGE_WINDOW_BYTES },                   \
			.lasts = 1 + 2                                           \
	}
/* place of the function, module or library, name, the function, error */
#define FUNCTION(function)                                                                 \
	{                                                                                  \
		RESULT(SITE_FUNCTION, function, ARG(0), ARG(1), ARG(2), OUT(0), RETURN32), \
			.text = { .kind = PROBE_TEXT_STRING,                               \
				  .pointer = 2,                                            \
				  .max = NAME_MAX_BYTES },                                 \
			.lasts = 1 + 3                                                     \
	}
/* place of the result, what it is asked of, the result, error */
#define ALIAS(number, function)                                                            \
	{                                                                                  \
		RESULT(number, function, ARG(0), ARG(1), OUT(0), RETURN32), .lasts = 1 + 2 \
	}
/* place of the name, function, the name, error */
#define NAME(function)                                                                  \
	{                                                                               \
		RESULT(SITE_FUNCTION_NAME, function, ARG(0), ARG(1), OUT(0), RETURN32), \
			.text = { .kind = PROBE_TEXT_STRING,                            \
				  .pointer = 2,                                         \
				  .max = NAME_MAX_BYTES },                              \
			.lasts = 1 + 1                                                  \
	}
/* place of the context, device, the context, error */
#define CONTEXT(function, device)                                                        \
	{                                                                                \
		RESULT(SITE_CONTEXT, function, ARG(0), ARG32(device), OUT(0), RETURN32), \
			.lasts = 1 + 2                                                   \
	}

#define CAPTURE(function, ...)                                \
	SITE(DRIVER, SITE_CAPTURE, function, 0, __VA_ARGS__), \
		SITE(DRIVER, SITE_CAPTURE | SITE_PER_THREAD, function "_ptsz", 0, __VA_ARGS__)
/* CUgraphNodeParams: the first word, and four from the third on. */
#define KIND_OF(arg)                                                           \
	{                                                                      \
		.base = PROBE_ARGUMENT, .index = (arg), .derefs = 1, .size = 4 \
	}
#define PARAMETERS_OF(arg)                                                                        \
	{                                                                                         \
		.base = PROBE_ARGUMENT, .index = (arg), .derefs = 1, .count = 4, .offset = { 16 } \
	}
/* place of the new one, what it is made of, the new one, error */
#define GRAPH_COPY(function) \
	SITE(DRIVER, SITE_GRAPH_COPY, function, PROBE_AT_RETURN, ARG(0), ARG(1), OUT(0), RETURN32)

const struct probe_site cuda_sites[] = {
	/* function, grid, block, stream */
	WORKS(SITE_LAUNCH, "cuLaunchKernel", "_ptsz", ARG(0), ARG32(1), ARG32(2), ARG32(3),
	      ARG32(4), ARG32(5), ARG32(6), ARG(8)),
	WORKS(SITE_LAUNCH, "cuLaunchCooperativeKernel", "_ptsz", ARG(0), ARG32(1), ARG32(2),
	      ARG32(3), ARG32(4), ARG32(5), ARG32(6), ARG(8)),
	WORKS(SITE_LAUNCH_CONFIG, "cuLaunchKernelEx", "_ptsz", ARG(1), CONFIG(0)),
	/* executable graph, stream */
	WORKS(SITE_GRAPH, "cuGraphLaunch", "_ptsz", ARG(0), ARG(1)),

	/* stream */
	CAPTURE("cuStreamBeginCapture", ARG(0)),
	CAPTURE("cuStreamBeginCapture_v2", ARG(0)),
	/* stream, graph */
	CAPTURE("cuStreamBeginCaptureToGraph", ARG(0), ARG(1)),
	/* stream, place of the graph, the graph, error */
	SITE(DRIVER, SITE_CAPTURE_END, "cuStreamEndCapture", PROBE_AT_RETURN, ARG(0), ARG(1),
	     OUT(1), RETURN32),
	SITE(DRIVER, SITE_CAPTURE_END | SITE_PER_THREAD, "cuStreamEndCapture_ptsz", PROBE_AT_RETURN,
	     ARG(0), ARG(1), OUT(1), RETURN32),
	/* graph, the node's parameters */
	WORK(SITE_GRAPH_NODE, "cuGraphAddKernelNode", ARG(1), WORDS(4, 4)),
	WORK(SITE_GRAPH_NODE, "cuGraphAddKernelNode_v2", ARG(1), WORDS(4, 4)),
	/* graph, kind of node, parameters as of a kernel's */
	WORK(SITE_GRAPH_NODE_ANY, "cuGraphAddNode", ARG(1), KIND_OF(4), PARAMETERS_OF(4)),
	WORK(SITE_GRAPH_NODE_ANY, "cuGraphAddNode_v2", ARG(1), KIND_OF(5), PARAMETERS_OF(5)),
	GRAPH_COPY("cuGraphClone"),
	GRAPH_COPY("cuGraphInstantiate"),
	GRAPH_COPY("cuGraphInstantiate_v2"),
	GRAPH_COPY("cuGraphInstantiateWithFlags"),
	GRAPH_COPY("cuGraphInstantiateWithParams"),
	GRAPH_COPY("cuGraphInstantiateWithParams_ptsz"),

	TRANSFER(TRANSFER_COPY, "cuMemcpy", 2),
	TRANSFER_STREAM(TRANSFER_COPY_ASYNC, "cuMemcpyAsync", 2, 3),
	TRANSFER(TRANSFER_TO_DEVICE, "cuMemcpyHtoD_v2", 2),
	TRANSFER_STREAM(TRANSFER_TO_DEVICE_ASYNC, "cuMemcpyHtoDAsync_v2", 2, 3),
	TRANSFER(TRANSFER_TO_HOST, "cuMemcpyDtoH_v2", 2),
	TRANSFER_STREAM(TRANSFER_TO_HOST_ASYNC, "cuMemcpyDtoHAsync_v2", 2, 3),
	TRANSFER(TRANSFER_ON_DEVICE, "cuMemcpyDtoD_v2", 2),
	TRANSFER_STREAM(TRANSFER_ON_DEVICE_ASYNC, "cuMemcpyDtoDAsync_v2", 2, 3),
	TRANSFER(TRANSFER_PEER, "cuMemcpyPeer", 4),
	TRANSFER_STREAM(TRANSFER_PEER_ASYNC, "cuMemcpyPeerAsync", 4, 5),
	TRANSFER(TRANSFER_SHAPED, "cuMemcpy2D_v2", 0),
	TRANSFER_STREAM(TRANSFER_SHAPED_ASYNC, "cuMemcpy2DAsync_v2", 0, 1),
	TRANSFER(TRANSFER_SHAPED, "cuMemcpy3D_v2", 0),
	TRANSFER_STREAM(TRANSFER_SHAPED_ASYNC, "cuMemcpy3DAsync_v2", 0, 1),
	TRANSFER(TRANSFER_SET8, "cuMemsetD8_v2", 2),
	TRANSFER_STREAM(TRANSFER_SET8_ASYNC, "cuMemsetD8Async", 2, 3),
	TRANSFER(TRANSFER_SET16, "cuMemsetD16_v2", 2),
	TRANSFER_STREAM(TRANSFER_SET16_ASYNC, "cuMemsetD16Async", 2, 3),
	TRANSFER(TRANSFER_SET32, "cuMemsetD32_v2", 2),
	TRANSFER_STREAM(TRANSFER_SET32_ASYNC, "cuMemsetD32Async", 2, 3),

	WAIT("cuStreamSynchronize", "_ptsz", ARG(0)),
	CALL(SITE_SYNC, "cuCtxSynchronize"),
	SITE(DRIVER, SITE_SYNC_END, "cuCtxSynchronize", PROBE_AT_RETURN, RETURN32),
	CALL(SITE_SYNC, "cuEventSynchronize"),
	SITE(DRIVER, SITE_SYNC_END, "cuEventSynchronize", PROBE_AT_RETURN, RETURN32),

	MODULE("cuModuleLoadData"),
	MODULE("cuModuleLoadDataEx"),
	MODULE("cuModuleLoadFatBinary"),
	MODULE("cuLibraryLoadData"),
	FUNCTION("cuModuleGetFunction"),
	FUNCTION("cuLibraryGetKernel"),
	ALIAS(SITE_KERNEL_FUNCTION, "cuKernelGetFunction"),
	ALIAS(SITE_LIBRARY_MODULE, "cuLibraryGetModule"),
	NAME("cuFuncGetName"),
	NAME("cuKernelGetName"),
	LASTING(SITE_UNLOAD, "cuModuleUnload", 1),
	LASTING(SITE_UNLOAD, "cuLibraryUnload", 1),

	CONTEXT("cuCtxCreate_v2", 2),
	CONTEXT("cuCtxCreate_v3", 4),
	CONTEXT("cuCtxCreate_v4", 3),
	CONTEXT("cuDevicePrimaryCtxRetain", 1),
	LASTING(SITE_CONTEXT_SET, "cuCtxSetCurrent", LASTS_BY_THREAD),
	LASTING(SITE_CONTEXT_SET, "cuCtxPushCurrent_v2", LASTS_BY_THREAD),
	/* place of the name, device, error */
	{ RESULT(SITE_DEVICE_NAME, "cuDeviceGetName", ARG(0), ARG32(2), RETURN32),
	  .text = { .kind = PROBE_TEXT_STRING, .pointer = 0, .max = 256 }, .lasts = 1 + 1 },

	/* stub or handle; x and y of the grid in one word, z; the same of the block; stream */
	SITE(RUNTIME, SITE_RUNTIME_LAUNCH, "cudaLaunchKernel", FROM_RUNTIME, ARG(0), ARG(1),
	     ARG32(2), ARG(3), ARG32(4), ARG(7)),
	SITE(RUNTIME, SITE_RUNTIME_LAUNCH | SITE_PER_THREAD, "cudaLaunchKernel_ptsz", FROM_RUNTIME,
	     ARG(0), ARG(1), ARG32(2), ARG(3), ARG32(4), ARG(7)),
	SITE(RUNTIME, SITE_RUNTIME_LAUNCH, "cudaLaunchCooperativeKernel", FROM_RUNTIME, ARG(0),
	     ARG(1), ARG32(2), ARG(3), ARG32(4), ARG(7)),
	SITE(RUNTIME, SITE_RUNTIME_LAUNCH | SITE_PER_THREAD, "cudaLaunchCooperativeKernel_ptsz",
	     FROM_RUNTIME, ARG(0), ARG(1), ARG32(2), ARG(3), ARG32(4), ARG(7)),
	SITE(RUNTIME, SITE_RUNTIME_LAUNCH_CONFIG, "cudaLaunchKernelExC", FROM_RUNTIME, ARG(1),
	     CONFIG(0)),
	SITE(RUNTIME, SITE_RUNTIME_LAUNCH_CONFIG | SITE_PER_THREAD, "cudaLaunchKernelExC_ptsz",
	     FROM_RUNTIME, ARG(1), CONFIG(0)),
	SITE(RUNTIME, SITE_RUNTIME_GRAPH, "cudaGraphLaunch", FROM_RUNTIME, ARG(0), ARG(1)),
	SITE(RUNTIME, SITE_RUNTIME_GRAPH | SITE_PER_THREAD, "cudaGraphLaunch_ptsz", FROM_RUNTIME,
	     ARG(0), ARG(1)),
	/* stub, name */
	{ .library = RUNTIME,
	  .symbol = "__cudaRegisterFunction",
	  .id = SITE_RUNTIME_REGISTER,
	  .flags = PROBE_AT_RETURN | PROBE_OPTIONAL,
	  .value = { ARG(1), ARG(3) },
	  .text = { .kind = PROBE_TEXT_STRING, .pointer = 1, .max = NAME_MAX_BYTES },
	  .lasts = 1 },
	/* place of the handle, stub, the handle, error: from CUDA 13 on launches name the handle */
	{ .library = RUNTIME,
	  .symbol = "__cudaGetKernel",
	  .id = SITE_RUNTIME_KERNEL,
	  .flags = PROBE_AT_RETURN | PROBE_OPTIONAL,
	  .value = { ARG(0), ARG(1), OUT(0), RETURN32 },
	  .lasts = 1 + 2 },
	/* correlation and kind, function, grid and block as six halves of words, stream */
	{ .library = INJECT_CUDA_LIBRARY,
	  .symbol = INJECT_CUDA_LAUNCH,
	  .id = SITE_TOLD_LAUNCH,
	  .flags = PROBE_STACK | PROBE_TELLS,
	  .value = { ARG(0), ARG(1), ARG(2), ARG(3), ARG(4), ARG(5) } },
	TOLD_BATCH(SITE_TOLD_BATCH, INJECT_CUDA_LIBRARY, INJECT_CUDA_BATCH, INJECT_CUDA_LISTENERS),
	TOLD_REQUEST(SITE_TOLD_SAMPLES, INJECT_CUDA_LIBRARY, INJECT_CUDA_SAMPLES,
		     INJECT_CUDA_SAMPLERS),
	TOLD_REQUEST(SITE_TOLD_SERIAL, INJECT_CUDA_LIBRARY, INJECT_CUDA_SERIAL,
		     INJECT_CUDA_SERIALIZERS),
	{ 0 },
};

const char *const cuda_libraries[] = { "libcuda.so.1",      "libcudart.so.13", "libcudart.so.12",
				       "libcudart.so.11.0", INJECT_CUDA_FILE,  NULL };
