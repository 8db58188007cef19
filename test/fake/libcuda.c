/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mock of libcuda.so.1 with one device that is none: it takes what it is given, and each kernel or
 * copy keeps its stream busy for FAKE_CUDA_NS nanoseconds (1000), which a wait sits out. Like the
 * driver it keeps functions by name in modules, and loads the library that CUDA_INJECTION64_PATH
 * names; unlike it, any name is found in any image. hooks.h is what the mock of CUPTI sees of it.
 */
#include "cuda.h"
#include "hooks.h"

#include <dlfcn.h>
#include <elf.h>
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
	uint32_t number;
};

struct fake_function {
	struct fake_function *next;
	char *name;
	const struct fake_module *module;
};

struct fake_module {
	struct fake_function *functions;
	struct fake_cuda_module image;
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

void (*fake_cuda_call_hook)(const struct fake_cuda_call *call);
void (*fake_cuda_work_hook)(const struct fake_cuda_work *work);
void (*fake_cuda_module_hook)(const struct fake_cuda_module *module, int is_loaded);

/* Begin of a call, as CUPTI counts them: its number. */
static uint32_t enter(uint32_t id, const char *name, const void *parameters, const char *symbol)
{
	static uint32_t last;
	uint32_t correlation = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	struct fake_cuda_call call = { id, correlation, name, parameters, symbol, current };

	if (fake_cuda_call_hook)
		fake_cuda_call_hook(&call);
	return correlation;
}

/* What every call that gives the device work comes to. */
static CUresult work(CUstream stream, struct fake_cuda_work w)
{
	uint64_t now = now_ns();

	stream = stream ? stream : &default_stream;
	pthread_mutex_lock(&lock);
	w.start_ns = stream->busy_until_ns > now ? stream->busy_until_ns : now;
	w.end_ns = w.start_ns + work_ns;
	w.stream = stream->number;
	w.device = current ? (uint32_t)current->device : 0;
	stream->busy_until_ns = w.end_ns;
	pthread_mutex_unlock(&lock);
	if (fake_cuda_work_hook)
		fake_cuda_work_hook(&w);
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

static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	int (*initialize)(void);

	if (path && !library)
		fprintf(stderr, "libcuda: %s\n", dlerror());
	if (!library)
		return;
	*(void **)&initialize = dlsym(library, "InitializeInjection");
	if (initialize)
		initialize();
}

CUresult cuInit(unsigned int flags)
{
	const char *text = getenv("FAKE_CUDA_NS");

	(void)flags;
	if (text)
		work_ns = strtoull(text, NULL, 10);
	inject();
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
	static uint32_t last = 6; /* the driver keeps some for itself */

	(void)flags;
	*stream = calloc(1, sizeof(**stream));
	(*stream)->number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
	return wait_for(stream ? stream : &default_stream);
}

/* Of an ELF file: up to the end of what comes last in it. */
static size_t cubin_size(const void *image)
{
	Elf64_Ehdr header;

	if (memcmp(image, ELFMAG, 4) != 0)
		return 0;
	memcpy(&header, image, sizeof(header));
	size_t sections = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
	size_t segments = header.e_phoff + (size_t)header.e_phnum * header.e_phentsize;
	return sections > segments ? sections : segments;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	if (!image)
		return CUDA_ERROR_INVALID_VALUE;
	*module = calloc(1, sizeof(**module));
	(*module)->image = (struct fake_cuda_module){ image, cubin_size(image) };
	if (fake_cuda_module_hook)
		fake_cuda_module_hook(&(*module)->image, 1);
	return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
	if (fake_cuda_module_hook)
		fake_cuda_module_hook(&module->image, 0);
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
		*f = (struct fake_function){ .next = module->functions,
					     .name = strdup(name),
					     .module = module };
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
	uint32_t correlation = enter(276, "cuMemcpyHtoD_v2", NULL, NULL);

	(void)to, (void)from;
	work(NULL, (struct fake_cuda_work){ .correlation = correlation,
					    .kind = FAKE_WORK_COPY,
					    .detail = 1,
					    .bytes = size });
	return wait_for(&default_stream);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
	uint32_t correlation = enter(279, "cuMemcpyDtoHAsync_v2", NULL, NULL);

	(void)from;
	memset(to, 0, size);
	return work(stream, (struct fake_cuda_work){ .correlation = correlation,
						     .kind = FAKE_WORK_COPY,
						     .detail = 2,
						     .bytes = size });
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count)
{
	uint32_t correlation = enter(251, "cuMemsetD32_v2", NULL, NULL);

	(void)to, (void)value;
	return work(NULL, (struct fake_cuda_work){ .correlation = correlation,
						   .kind = FAKE_WORK_FILL,
						   .bytes = 4 * count });
}

/* The driver's parameters as its callbacks get them (generated_cuda_meta.h). */
struct launch_parameters {
	CUfunction function;
	unsigned int sizes[7];
	CUstream stream;
	void **parameters, **extra;
};

struct config_parameters {
	const CUlaunchConfig *config;
	CUfunction function;
	void **parameters, **extra;
};

static CUresult run(CUfunction function, CUstream stream, uint32_t correlation)
{
	return work(stream, (struct fake_cuda_work){ .correlation = correlation,
						     .kind = FAKE_WORK_KERNEL,
						     .name = function->name,
						     .module = function->module->image });
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
			unsigned int grid_z, unsigned int block_x, unsigned int block_y,
			unsigned int block_z, unsigned int shared_bytes, CUstream stream,
			void **parameters, void **extra)
{
	struct launch_parameters p = {
		function, { grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes },
		stream,   parameters,
		extra,
	};

	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	return run(function, stream, enter(307, "cuLaunchKernel", &p, function->name));
}

CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y,
			     unsigned int grid_z, unsigned int block_x, unsigned int block_y,
			     unsigned int block_z, unsigned int shared_bytes, CUstream stream,
			     void **parameters, void **extra)
{
	struct launch_parameters p = {
		function, { grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes },
		stream,   parameters,
		extra,
	};

	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	return run(function, stream, enter(442, "cuLaunchKernel_ptsz", &p, function->name));
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
			  void **extra)
{
	struct config_parameters p = { config, function, parameters, extra };

	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	return run(function, config->hStream, enter(652, "cuLaunchKernelEx", &p, function->name));
}

/* A graph of two kernels: both are the launch's. */
CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream)
{
	uint32_t correlation = enter(514, "cuGraphLaunch", NULL, NULL);

	(void)graph;
	for (uint64_t node = 1; node <= 2; node++)
		work(stream, (struct fake_cuda_work){ .correlation = correlation,
						      .kind = FAKE_WORK_KERNEL,
						      .name = node == 1 ? "node_one" : "node_two",
						      .node = node });
	return CUDA_SUCCESS;
}
