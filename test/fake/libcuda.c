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
	struct fake_graph *graph; /* that is recorded from it */
};

#define NODES_MAX 256

struct fake_node {
	uint64_t number;
	struct fake_cuda_work work;
};

struct fake_graph {
	struct fake_node nodes[NODES_MAX];
	size_t count;
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
void (*fake_cuda_context_hook)(void *context);
void (*fake_cuda_node_hook)(const struct fake_cuda_node *node);
void (*fake_cuda_module_hook)(const struct fake_cuda_module *module, int is_loaded);

/* Begin of a call, as CUPTI counts them: its number. */
static uint32_t enter(uint32_t id, const char *name, const void *parameters, const char *symbol)
{
	static uint32_t last;
	uint32_t correlation = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	struct fake_cuda_call call = { id, correlation, name, parameters, symbol, current, NULL };

	if (fake_cuda_call_hook)
		fake_cuda_call_hook(&call);
	return correlation;
}

/* Its end. Returns @result. */
static CUresult leave(uint32_t id, uint32_t correlation, const char *name, CUresult result)
{
	struct fake_cuda_call call = { id, correlation, name, NULL, NULL, current, &result };

	if (fake_cuda_call_hook)
		fake_cuda_call_hook(&call);
	return result;
}

static struct fake_node *add_node(struct fake_graph *graph, const struct fake_cuda_work *w,
				  const uint64_t *original)
{
	static const int types[] = {
		[FAKE_WORK_KERNEL] = 0, [FAKE_WORK_COPY] = 1, [FAKE_WORK_FILL] = 2
	};
	static uint64_t last = 1000;
	struct fake_node *node = &graph->nodes[graph->count++];
	struct fake_cuda_node hook = { &node->number, original, types[w->kind] };

	if (graph->count == NODES_MAX)
		abort();
	node->number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	node->work = *w;
	if (fake_cuda_node_hook)
		fake_cuda_node_hook(&hook);
	return node;
}

/* What every call that gives the device work comes to. */
static CUresult work(CUstream stream, struct fake_cuda_work w)
{
	uint64_t now = now_ns();

	stream = stream ? stream : &default_stream;
	if (stream->graph) {
		add_node(stream->graph, &w, NULL);
		return CUDA_SUCCESS;
	}
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

CUresult cuCtxDestroy_v2(CUcontext context)
{
	if (fake_cuda_context_hook)
		fake_cuda_context_hook(context);
	if (current == context)
		current = NULL;
	free(context);
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

CUresult cuStreamDestroy_v2(CUstream stream)
{
	free(stream);
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
	return leave(276, correlation, "cuMemcpyHtoD_v2", wait_for(&default_stream));
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
	uint32_t correlation = enter(279, "cuMemcpyDtoHAsync_v2", NULL, NULL);

	(void)from;
	memset(to, 0, size);
	work(stream, (struct fake_cuda_work){ .correlation = correlation,
					      .kind = FAKE_WORK_COPY,
					      .detail = 2,
					      .bytes = size });
	return leave(279, correlation, "cuMemcpyDtoHAsync_v2", CUDA_SUCCESS);
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count)
{
	uint32_t correlation = enter(251, "cuMemsetD32_v2", NULL, NULL);

	(void)to, (void)value;
	work(NULL, (struct fake_cuda_work){ .correlation = correlation,
					    .kind = FAKE_WORK_FILL,
					    .bytes = 4 * count });
	return leave(251, correlation, "cuMemsetD32_v2", CUDA_SUCCESS);
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

static struct fake_cuda_work kernel_work(CUfunction function, uint32_t correlation)
{
	return (struct fake_cuda_work){ .correlation = correlation,
					.kind = FAKE_WORK_KERNEL,
					.name = function->name,
					.module = function->module->image };
}

static CUresult run(uint32_t id, const char *name, CUfunction function, CUstream stream,
		    const void *parameters)
{
	uint32_t correlation = enter(id, name, parameters, function->name);

	return leave(id, correlation, name, work(stream, kernel_work(function, correlation)));
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
	return run(307, "cuLaunchKernel", function, stream, &p);
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
	return run(442, "cuLaunchKernel_ptsz", function, stream, &p);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
			  void **extra)
{
	struct config_parameters p = { config, function, parameters, extra };

	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	return run(652, "cuLaunchKernelEx", function, config->hStream, &p);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, int mode)
{
	uint32_t correlation = enter(539, "cuStreamBeginCapture_v2", NULL, NULL);

	(void)mode;
	stream->graph = calloc(1, sizeof(*stream->graph));
	return leave(539, correlation, "cuStreamBeginCapture_v2", CUDA_SUCCESS);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	uint32_t correlation = enter(497, "cuStreamEndCapture", NULL, NULL);

	*graph = stream->graph;
	stream->graph = NULL;
	return leave(497, correlation, "cuStreamEndCapture", CUDA_SUCCESS);
}

CUresult cuGraphCreate(CUgraph *graph, unsigned int flags)
{
	(void)flags;
	*graph = calloc(1, sizeof(**graph));
	return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
				 size_t count, const CUDA_KERNEL_NODE_PARAMS *parameters)
{
	struct fake_cuda_work w = kernel_work(parameters->func, 0);

	(void)dependencies, (void)count;
	*node = add_node(graph, &w, NULL);
	return CUDA_SUCCESS;
}

/* Its nodes are others. */
CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph,
				     unsigned long long flags)
{
	(void)flags;
	*executable = calloc(1, sizeof(**executable));
	for (size_t i = 0; i < graph->count; i++)
		add_node(*executable, &graph->nodes[i].work, &graph->nodes[i].number);
	return CUDA_SUCCESS;
}

/* No graph is one of two kernels. All of a graph is the launch's. */
CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream)
{
	uint32_t correlation = enter(514, "cuGraphLaunch", NULL, NULL);

	for (uint64_t node = 1; !graph && node <= 2; node++)
		work(stream, (struct fake_cuda_work){ .correlation = correlation,
						      .kind = FAKE_WORK_KERNEL,
						      .name = node == 1 ? "node_one" : "node_two",
						      .node = node });
	for (size_t i = 0; graph && i < graph->count; i++) {
		struct fake_cuda_work w = graph->nodes[i].work;
		w.correlation = correlation;
		w.node = graph->nodes[i].number;
		work(stream, w);
	}
	return leave(514, correlation, "cuGraphLaunch", CUDA_SUCCESS);
}
