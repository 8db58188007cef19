/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps [-n STEPS] [-w KERNEL=PERCENT]
 *
 * A training loop as a device sees it: each step launches the same kernels in the same order and waits
 * for them. Each kernel does a fixed number of multiplications, one after the other, so that its time is
 * the machine's and nothing else's; with -w one of them does PERCENT more.
 */
#include "opencl.h"

#include <unistd.h>

#define KERNELS 4
/* A multiplication and addition that wait for the last one, 4 cycles each: 0.2 to 1 ms, which on a
 * busy machine most of them have a CPU for themselves. */
#define WORK 250000

static const char *const names[KERNELS] = { "embed", "attention", "norm", "mlp" };
static const int shares[KERNELS] = { 1, 3, 1, 4 };
/* The order within a step: some twice, as layers are. */
static const int order[] = { 0, 2, 1, 2, 3, 2, 1, 2, 3 };

static cl_program make_program(cl_context context, cl_device_id device)
{
	char source[KERNELS * 256] = "", one[256];
	const char *text = source;
	cl_int code;

	for (int i = 0; i < KERNELS; i++) {
		snprintf(one, sizeof(one),
			 "kernel void %s(global float *x, int n)\n"
			 "{\n"
			 "	float v = x[0];\n"
			 "	for (int i = 0; i < n; i++)\n"
			 "		v = v * 0.999f + %d.0f;\n"
			 "	x[0] = v;\n"
			 "}\n",
			 names[i], i + 1);
		strcat(source, one);
	}
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
	cl_check(code, "clCreateProgramWithSource");
	cl_check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	return program;
}

static void step(cl_command_queue queue, cl_kernel *kernels)
{
	const size_t one = 1;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		cl_check(clEnqueueNDRangeKernel(queue, kernels[order[i]], 1, NULL, &one, &one, 0,
						NULL, NULL),
			 "clEnqueueNDRangeKernel");
	cl_check(clFinish(queue), "clFinish");
}

static void parse(int argc, char **argv, int *steps, double percent[KERNELS])
{
	int c;
	while ((c = getopt(argc, argv, "n:w:")) != -1) {
		char *equals = c == 'w' ? strchr(optarg, '=') : NULL;
		if (c == 'n')
			*steps = atoi(optarg);
		else if (!equals)
			exit(2);
		for (int i = 0; equals && i < KERNELS; i++) {
			if (!strncmp(optarg, names[i], strlen(names[i])) &&
			    optarg + strlen(names[i]) == equals)
				percent[i] = atof(equals + 1);
		}
	}
}

int main(int argc, char **argv)
{
	double percent[KERNELS] = { 0 };
	cl_device_id device = cl_first_device();
	cl_kernel kernels[KERNELS];
	int steps = 20;
	float zero = 0;
	cl_int code;

	parse(argc, argv, &steps, percent);
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	cl_check(code, "clCreateContext");
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
	cl_check(code, "clCreateCommandQueue");
	cl_program program = make_program(context, device);
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
				       sizeof(zero), &zero, &code);
	cl_check(code, "clCreateBuffer");
	for (int i = 0; i < KERNELS; i++) {
		int work = (int)(WORK * shares[i] * (1 + percent[i] / 100));
		kernels[i] = clCreateKernel(program, names[i], &code);
		cl_check(code, "clCreateKernel");
		cl_check(clSetKernelArg(kernels[i], 0, sizeof(buffer), &buffer), "clSetKernelArg");
		cl_check(clSetKernelArg(kernels[i], 1, sizeof(work), &work), "clSetKernelArg");
	}
	for (int i = 0; i < steps; i++)
		step(queue, kernels);
	return 0;
}
