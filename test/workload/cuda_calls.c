/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_calls driver|runtime|fast|quarters|graph|many|steady|rate COUNT CUBIN [wait]
 *
 * A program that uses CUDA: COUNT launches each from two functions, with copies and waits between
 * them, by the driver's interface, with modules, libraries and kernels; or COUNT of a kernel by the
 * runtime's; "fast" makes nothing but launches, as many as it can; "quarters" too, of one kernel, of
 * each four one from launch_red() and three from another function; "graph" records a kernel and a copy from one function, and adds one by
 * name from another, and launches that COUNT times from a third; "many" makes and ends COUNT contexts, each with a stream
 * and a module of ten kernels that are called like no other, each launched three times, from eight
 * threads; "steady" launches one kernel each millisecond, COUNT times, "rate" 50,000 a second. With "wait" it says "ready" when its functions are known, and waits for a line on its
 * input before it launches. CUDA_RED and CUDA_BLUE are other names for the two kernels. Lines for
 * programs to read:
 *
 *	launch_red 100 launch_blue 100
 *	ns_per_launch 2600 cpu_ns_per_launch 4100
 */
#include "../fake/cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The runtime's interface, as nvcc's code calls it. */
typedef struct {
	unsigned int x, y, z;
} dim3;
void __cudaRegisterFunction(void **handle, const char *stub, char *device_function,
			    const char *name, int thread_limit, void *tid, void *bid, void *block,
			    void *grid, int *size);
int cudaLaunchKernel(const void *stub, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
		     CUstream stream);

static void check(int rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "cuda_calls: %s: error %d\n", what, rc);
	exit(1);
}

static CUfunction red, blue;
static CUstream stream;

__attribute__((noinline)) static void launch_red(void)
{
	check(cuLaunchKernel(red, 7, 2, 3, 64, 4, 1, 0, stream, NULL, NULL), "launch_red");
	__asm__ volatile("");
}

__attribute__((noinline)) static void launch_most(void)
{
	check(cuLaunchKernel(red, 7, 2, 3, 64, 4, 1, 0, stream, NULL, NULL), "launch_most");
	__asm__ volatile("");
}

__attribute__((noinline)) static void launch_blue(void)
{
	CUlaunchConfig config = { 5, 1, 1, 128, 1, 1, 0, stream, NULL, 0 };

	check(cuLaunchKernelEx(&config, blue, NULL, NULL), "launch_blue");
	__asm__ volatile("");
}

__attribute__((noinline)) static void wait_here(void)
{
	check(cuStreamSynchronize(stream), "wait");
	__asm__ volatile("");
}

/* What nvcc makes of a kernel for the host. */
__attribute__((noinline)) void __device_stub__Z5scalePfi(void)
{
	dim3 grid = { 9, 8, 7 }, block = { 32, 2, 1 };

	check(cudaLaunchKernel((const void *)__device_stub__Z5scalePfi, grid, block, NULL, 0,
			       stream),
	      "scale");
	__asm__ volatile("");
}

static void *read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	void *bytes;
	long size;

	if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0) {
		perror(path);
		exit(1);
	}
	rewind(file);
	bytes = malloc((size_t)size);
	if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size)
		exit(1);
	fclose(file);
	return bytes;
}

static const char *name_of(const char *variable, const char *usual)
{
	const char *name = getenv(variable);

	return name ? name : usual;
}

static void look_up(const void *bytes)
{
	CUfunction none;
	CUmodule module, gone;
	CUlibrary library;
	CUkernel kernel;

	check(cuModuleLoadData(&gone, bytes), "module");
	check(cuModuleGetFunction(&red, gone, "gone"), "gone");
	check(cuModuleUnload(gone), "unload");
	check(cuModuleLoadData(&module, bytes), "module");
	check(cuModuleGetFunction(&red, module, name_of("CUDA_RED", "red_kernel")), "red");
	if (cuModuleGetFunction(&none, module, "no_such_kernel") != CUDA_ERROR_NOT_FOUND)
		exit(1);
	check(cuLibraryLoadData(&library, bytes, NULL, NULL, 0, NULL, NULL, 0), "library");
	check(cuLibraryGetKernel(&kernel, library, name_of("CUDA_BLUE", "_Z11blue_kernelPf")),
	      "blue");
	check(cuKernelGetFunction(&blue, kernel), "blue");
}

static void start_device(void)
{
	CUcontext context;
	CUdevice device;
	char name[64];

	check(cuInit(0), "init");
	check(cuDeviceGet(&device, 1), "device");
	check(cuDeviceGetName(name, sizeof(name), device), "name");
	check(cuDevicePrimaryCtxRetain(&context, device), "context");
	check(cuCtxSetCurrent(context), "context");
	check(cuStreamCreate(&stream, 0), "stream");
}

static void run_driver(int count)
{
	static char buffer[4096];
	CUdeviceptr memory;

	check(cuMemAlloc_v2(&memory, sizeof(buffer)), "memory");
	for (int i = 0; i < count; i++) {
		launch_red();
		launch_blue();
		if (i % 10 == 0) {
			check(cuMemcpyHtoD_v2(memory, buffer, 1024), "copy");
			check(cuMemcpyDtoHAsync_v2(buffer, memory, 512, stream), "copy back");
			check(cuMemsetD32_v2(memory, 0, 100), "fill");
			check(cuGraphLaunch(NULL, stream), "graph");
			wait_here();
		}
	}
	printf("launch_red %d launch_blue %d\n", count, count);
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void run_fast(int count)
{
	double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);

	for (int i = 0; i < count; i++)
		launch_red();
	wall = seconds(CLOCK_MONOTONIC) - wall;
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	printf("ns_per_launch %.0f cpu_ns_per_launch %.0f\n", wall / count * 1e9,
	       cpu / count * 1e9);
}

static void run_quarters(int count)
{
	for (int i = 0; i < count; i++)
		i % 4 ? launch_most() : launch_red();
}

#define WARM_UPS 100

__attribute__((noinline)) static void record_layer(void *to, CUdeviceptr from)
{
	launch_red();
	check(cuMemcpyDtoHAsync_v2(to, from, 512, stream), "copy in a graph");
}

__attribute__((noinline)) static void record_graph(CUgraph *graph)
{
	static char buffer[512];
	CUdeviceptr memory;

	check(cuMemAlloc_v2(&memory, sizeof(buffer)), "memory");
	check(cuStreamBeginCapture_v2(stream, 0), "capture");
	record_layer(buffer, memory);
	check(cuStreamEndCapture(stream, graph), "end of capture");
}

__attribute__((noinline)) static void add_by_name(CUgraph graph)
{
	CUDA_KERNEL_NODE_PARAMS parameters = { .func = blue, .gridDimX = 5, .blockDimX = 128 };
	CUgraphNode node;

	check(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &parameters), "node");
	__asm__ volatile("");
}

__attribute__((noinline)) static void replay(CUgraphExec executable)
{
	check(cuGraphLaunch(executable, stream), "graph");
	__asm__ volatile("");
}

static void run_graph(int count)
{
	CUgraphExec executable;
	CUgraph graph;

	/* As run_runtime(): what is recorded is recorded once. */
	for (int i = 0; i < WARM_UPS; i++) {
		launch_blue();
		usleep(2000);
	}
	record_graph(&graph);
	add_by_name(graph);
	check(cuGraphInstantiateWithFlags(&executable, graph, 0), "instantiate");
	for (int i = 0; i < count; i++)
		replay(executable);
	launch_red();
	wait_here();
}

static void register_stub(void)
{
	static void *handle[1];

	__cudaRegisterFunction(handle, (const char *)__device_stub__Z5scalePfi, NULL, "_Z5scalePfi",
			       -1, NULL, NULL, NULL, NULL, NULL);
}

static void run_runtime(int count)
{
	/* Slow enough for whoever watches to find out how to walk these libraries. */
	for (int i = 0; i < count; i++) {
		__device_stub__Z5scalePfi();
		usleep(2000);
	}
	printf("launch_stub %d\n", count);
}

#define THREADS  8
#define KERNELS  10
#define LAUNCHES 3

static const void *image;

static void use_module(int number)
{
	CUcontext context;
	CUmodule module;
	CUstream own;

	check(cuCtxCreate_v2(&context, 0, number % 2), "context");
	check(cuStreamCreate(&own, 0), "stream");
	check(cuModuleLoadData(&module, image), "module");
	for (int k = 0; k < KERNELS; k++) {
		CUfunction function;
		char name[64];

		snprintf(name, sizeof(name), "kernel_%d_%d", number, k);
		check(cuModuleGetFunction(&function, module, name), name);
		for (int i = 0; i < LAUNCHES; i++)
			check(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, own, NULL, NULL),
			      name);
	}
	check(cuStreamSynchronize(own), "wait");
	check(cuModuleUnload(module), "unload");
	check(cuStreamDestroy_v2(own), "end of stream");
	check(cuCtxDestroy_v2(context), "end of context");
}

static int modules_left;

static void *use_modules(void *data)
{
	int number;

	while ((number = __atomic_sub_fetch(&modules_left, 1, __ATOMIC_RELAXED)) >= 0)
		use_module(number);
	return data;
}

static void run_many(int count)
{
	pthread_t threads[THREADS];

	modules_left = count;
	for (int i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i], NULL, use_modules, NULL), "thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void run_steady(int count)
{
	for (int i = 0; i < count; i++) {
		launch_red();
		usleep(1000);
	}
}

#define RATE 50000.

static void run_rate(int count)
{
	double begin = seconds(CLOCK_MONOTONIC);

	for (int i = 0; i < count; i++) {
		while ((seconds(CLOCK_MONOTONIC) - begin) * RATE < i)
			;
		launch_red();
	}
	printf("seconds %.3f\n", seconds(CLOCK_MONOTONIC) - begin);
}

static const struct {
	const char *name;
	void (*run)(int count);
} ways[] = {
	{ "driver", run_driver }, { "runtime", run_runtime },   { "fast", run_fast },
	{ "graph", run_graph },   { "quarters", run_quarters }, { "many", run_many },
	{ "steady", run_steady }, { "rate", run_rate },
};

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 0;
	void (*run)(int) = NULL;
	char line[8];

	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[1], ways[i].name) == 0)
			run = ways[i].run;
	if (count < 1 || argc < 4 || !run) {
		fputs("usage: cuda_calls driver|runtime|fast|quarters|graph|many|steady|rate COUNT "
		      "CUBIN [wait]\n",
		      stderr);
		return 2;
	}
	start_device();
	if (run == run_runtime)
		register_stub();
	else
		look_up(image = read_file(argv[3]));
	if (argc > 4) {
		puts("ready");
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			return 1;
	}
	run(count);
	return 0;
}
