/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mock of libcuda.so.1 with one device that is none: it takes what it is given, and each kernel or
 * copy keeps its stream busy for FAKE_CUDA_NS nanoseconds (1000), which a wait sits out. Like the
 * driver it keeps functions by name in modules; unlike it, any name is found in any image.
 */
#include "cuda.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEVICES 2

struct fake_context {
	CUdevice device;
};

struct fake_stream {
	uint64_t busy_until_ns;
};

struct fake_function {
	struct fake_function *next;
	char *name;
};

struct fake_module {
	struct fake_function *functions;
};

static struct fake_context primary[DEVICES] = { { 0 }, { 1 } };
static struct fake_stream default_stream;
static __thread struct fake_context *current;
static uint64_t work_ns = 1000;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* What every call that gives the device work comes to. */
static CUresult work(CUstream stream)
{
	uint64_t now = now_ns(), start;

	stream = stream ? stream : &default_stream;
	start = __atomic_load_n(&stream->busy_until_ns, __ATOMIC_RELAXED);
	start = start > now ? start : now;
	__atomic_store_n(&stream->busy_until_ns, start + work_ns, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

static CUresult wait_for(const struct fake_stream *stream)
{
	uint64_t until = __atomic_load_n(&stream->busy_until_ns, __ATOMIC_RELAXED), now;

	while ((now = now_ns()) < until) {
		struct timespec pause = { (time_t)((until - now) / 1000000000),
					  (long)((until - now) % 1000000000) };
		nanosleep(&pause, NULL);
	}
	return CUDA_SUCCESS;
}

CUresult cuInit(unsigned int flags)
{
	const char *text = getenv("FAKE_CUDA_NS");

	(void)flags;
	if (text)
		work_ns = strtoull(text, NULL, 10);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
	*count = DEVICES;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	*device = ordinal;
	return ordinal < DEVICES ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
	snprintf(name, (size_t)size, "Fake GPU %c", 'A' + device);
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
	(void)flags;
	*context = malloc(sizeof(**context));
	(*context)->device = device;
	current = *context;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	*context = &primary[device];
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
	current = context;
	return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
	return wait_for(&default_stream);
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	(void)flags;
	*stream = calloc(1, sizeof(**stream));
	return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
	return wait_for(stream ? stream : &default_stream);
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	if (!image)
		return CUDA_ERROR_INVALID_VALUE;
	*module = calloc(1, sizeof(**module));
	return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
	while (module->functions) {
		struct fake_function *f = module->functions;
		module->functions = f->next;
		free(f->name);
		free(f);
	}
	free(module);
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	struct fake_function *f;

	if (strcmp(name, "no_such_kernel") == 0)
		return CUDA_ERROR_NOT_FOUND;
	pthread_mutex_lock(&lock);
	for (f = module->functions; f && strcmp(f->name, name) != 0; f = f->next)
		;
	if (!f) {
		f = malloc(sizeof(*f));
		*f = (struct fake_function){ .next = module->functions, .name = strdup(name) };
		module->functions = f;
	}
	pthread_mutex_unlock(&lock);
	*function = f;
	return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, int *options, void **values,
			   unsigned int count, int *library_options, void **library_values,
			   unsigned int library_count)
{
	(void)options, (void)values, (void)count;
	(void)library_options, (void)library_values, (void)library_count;
	return cuModuleLoadData((CUmodule *)library, code);
}

/* A kernel is not a function, but stands for one in each context. */
struct fake_kernel {
	CUfunction function;
};

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	CUfunction function;
	CUresult rc = cuModuleGetFunction(&function, (CUmodule)library, name);

	if (rc == CUDA_SUCCESS) {
		*kernel = malloc(sizeof(**kernel));
		(*kernel)->function = function;
	}
	return rc;
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	*function = kernel->function;
	return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size)
{
	*address = 0x7f0000000000 + size;
	return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size)
{
	(void)to, (void)from, (void)size;
	work(NULL);
	return wait_for(&default_stream);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
	(void)from;
	memset(to, 0, size);
	return work(stream);
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count)
{
	(void)to, (void)value, (void)count;
	return work(NULL);
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
			unsigned int grid_z, unsigned int block_x, unsigned int block_y,
			unsigned int block_z, unsigned int shared_bytes, CUstream stream,
			void **parameters, void **extra)
{
	(void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
	(void)shared_bytes, (void)parameters, (void)extra;
	return function ? work(stream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y,
			     unsigned int grid_z, unsigned int block_x, unsigned int block_y,
			     unsigned int block_z, unsigned int shared_bytes, CUstream stream,
			     void **parameters, void **extra)
{
	(void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
	(void)shared_bytes, (void)parameters, (void)extra;
	return function ? work(stream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
			  void **extra)
{
	(void)parameters, (void)extra;
	return function ? work(config->hStream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream)
{
	(void)graph;
	return work(stream);
}
