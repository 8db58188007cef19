/* SPDX-License-Identifier: Apache-2.0 */
/* intel_mm by OpenCL. */
#define CL_TARGET_OPENCL_VERSION 300
#include "intel_mm.h"

#include <CL/cl.h>

#define KERNEL_ADDRESS 0x10010 /* CL_KERNEL_BINARY_GPU_ADDRESS_INTEL */
#define DEBUG_INFO     0x4100  /* CL_PROGRAM_DEBUG_INFO_INTEL */
#define DEBUG_SIZES    0x4101

static cl_command_queue queue;
static cl_program program;
static cl_kernel kernels[VERSIONS];

static void make_kernels(cl_context context, cl_device_id device, const char *file)
{
	const char *build = getenv("INTEL_MM_BUILD") ? getenv("INTEL_MM_BUILD") : "-g";
	size_t size;
	char *text = read_whole(file, &size);
	cl_int code;

	if (memcmp(text, "\177ELF", 4) == 0)
		program = clCreateProgramWithBinary(context, 1, &device, &size,
						    (const unsigned char **)&text, NULL, &code);
	else
		program = clCreateProgramWithSource(context, 1, (const char **)&text, &size, &code);
	check(code, "clCreateProgram");
	check(clBuildProgram(program, 1, &device, build, NULL, NULL), "clBuildProgram");
	free(text);
	for (int i = 0; i < VERSIONS; i++) {
		const int n = SIZE;
		kernels[i] = clCreateKernel(program, kernel_names[i], &code);
		check(code, "clCreateKernel");
		check(clSetKernelArg(kernels[i], 0, sizeof(n), &n), "clSetKernelArg");
		for (cl_uint k = 1; k <= 3; k++) {
			cl_mem matrix = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE * SIZE * 4,
						       NULL, &code);
			check(code, "clCreateBuffer");
			check(clSetKernelArg(kernels[i], k, sizeof(matrix), &matrix),
			      "clSetKernelArg");
		}
	}
}

static void begin_cl(void)
{
	cl_uint count;

	clGetPlatformIDs(0, NULL, &count);
}

static void open_cl(const char *file, const char *how)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int code;

	(void)how;
	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL) != CL_SUCCESS) {
		fprintf(stderr, "no OpenCL device\n");
		exit(77);
	}
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	check(code, "clCreateContext");
	queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
	check(code, "clCreateCommandQueueWithProperties");
	make_kernels(context, device, file);
}

static uint64_t address_cl(int version)
{
	cl_ulong address = 0;

	check(clGetKernelInfo(kernels[version], KERNEL_ADDRESS, sizeof(address), &address, NULL),
	      "clGetKernelInfo");
	return address;
}

__attribute__((noinline)) static void multiply_basic(void)
{
	const size_t global[2] = { SIZE, SIZE }, local[2] = { TILE, TILE };

	check(clEnqueueNDRangeKernel(queue, kernels[BASIC], 2, NULL, global, local, 0, NULL, NULL),
	      "multiply_basic");
}

__attribute__((noinline)) static void multiply_local(void)
{
	const size_t global[2] = { SIZE, SIZE }, local[2] = { TILE, TILE };

	check(clEnqueueNDRangeKernel(queue, kernels[LOCAL], 2, NULL, global, local, 0, NULL, NULL),
	      "multiply_local");
}

__attribute__((noinline)) static void multiply_tiled(void)
{
	const size_t global[2] = { SIZE / 4, SIZE }, local[2] = { TILE, TILE };

	check(clEnqueueNDRangeKernel(queue, kernels[TILED], 2, NULL, global, local, 0, NULL, NULL),
	      "multiply_tiled");
}

static void finish(void)
{
	check(clFinish(queue), "clFinish");
}

static void dump_cl(const char *path)
{
	unsigned char *bytes;
	size_t size = 0;

	check(clGetProgramInfo(program, DEBUG_SIZES, sizeof(size), &size, NULL),
	      "clGetProgramInfo");
	bytes = malloc(size);
	if (!bytes)
		exit(1);
	check(clGetProgramInfo(program, DEBUG_INFO, sizeof(bytes), &bytes, NULL),
	      "clGetProgramInfo");
	write_whole(path, bytes, size);
	free(bytes);
}

const struct backend cl_backend = {
	.begin = begin_cl,
	.open = open_cl,
	.address = address_cl,
	.multiply_basic = multiply_basic,
	.multiply_local = multiply_local,
	.multiply_tiled = multiply_tiled,
	.finish = finish,
	.dump = dump_cl,
};
