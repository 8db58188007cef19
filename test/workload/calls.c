/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes one of each call that gives an OpenCL device work, in order, and says for each what it should
 * be recorded as: a line "NAME BYTES done" or, for a call that fails, "NAME BYTES failed". Kernels are
 * "kernel:NAME". The last part works out of order, behind a user event.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include "opencl.h"

#define SIZE 65536

static const char source[] = "kernel void first(global int *x) { x[get_global_id(0)] += 1; }\n"
			     "kernel void second(global int *x) { x[get_global_id(0)] *= 2; }\n";

static cl_context context;
static cl_command_queue queue;
static cl_kernel first, second;
static cl_mem a, b;

static void told(cl_int code, const char *name, size_t bytes)
{
	printf("%s %zu %s\n", name, bytes, code == CL_SUCCESS ? "done" : "failed");
}

static void buffers(char *host)
{
	const size_t origin[3] = { 0, 0, 0 }, region[3] = { 64, 10, 2 };
	const char pattern = 7;
	cl_int code;

	told(clEnqueueWriteBuffer(queue, a, CL_FALSE, 0, SIZE, host, 0, NULL, NULL), "Write Buffer",
	     SIZE);
	told(clEnqueueReadBuffer(queue, a, CL_TRUE, 16, 1000, host, 0, NULL, NULL), "Read Buffer",
	     1000);
	told(clEnqueueReadBuffer(queue, a, CL_TRUE, SIZE, 1000, host, 0, NULL, NULL), "Read Buffer",
	     1000); /* beyond its end */
	told(clEnqueueCopyBuffer(queue, a, b, 0, 0, 4096, 0, NULL, NULL), "Copy Buffer", 4096);
	told(clEnqueueFillBuffer(queue, b, &pattern, 1, 0, 512, 0, NULL, NULL), "Fill Buffer", 512);
	told(clEnqueueReadBufferRect(queue, a, CL_TRUE, origin, origin, region, 64, 640, 64, 640,
				     host, 0, NULL, NULL),
	     "Read Buffer Rect", 1280);
	told(clEnqueueWriteBufferRect(queue, a, CL_FALSE, origin, origin, region, 64, 640, 64, 640,
				      host, 0, NULL, NULL),
	     "Write Buffer Rect", 1280);
	told(clEnqueueCopyBufferRect(queue, a, b, origin, origin, region, 64, 640, 64, 640, 0, NULL,
				     NULL),
	     "Copy Buffer Rect", 1280);
	void *mapped =
		clEnqueueMapBuffer(queue, a, CL_TRUE, CL_MAP_READ, 0, 2048, 0, NULL, NULL, &code);
	told(code, "Map Buffer", 2048);
	told(clEnqueueUnmapMemObject(queue, a, mapped, 0, NULL, NULL), "Unmap", 0);
	told(clEnqueueMigrateMemObjects(queue, 1, &b, 0, 0, NULL, NULL), "Migrate", 0);
}

static void svm(char *host)
{
	const char pattern = 9;
	char *shared = clSVMAlloc(context, CL_MEM_READ_WRITE, SIZE, 0);

	if (!shared)
		return;
	told(clEnqueueSVMMemcpy(queue, CL_TRUE, shared, host, 3000, 0, NULL, NULL), "SVM Memcpy",
	     3000);
	told(clEnqueueSVMMemFill(queue, shared, &pattern, 1, 256, 0, NULL, NULL), "SVM Fill", 256);
	told(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, shared, 777, 0, NULL, NULL), "SVM Map",
	     777);
	told(clEnqueueSVMUnmap(queue, shared, 0, NULL, NULL), "SVM Unmap", 0);
	clFinish(queue);
	clSVMFree(context, shared);
}

static void kernels(void)
{
	const size_t size = 1024, group = 64, odd = 1000;
	cl_int code;
	cl_kernel copy = clCloneKernel(second, &code);

	told(clEnqueueNDRangeKernel(queue, first, 1, NULL, &size, &group, 0, NULL, NULL),
	     "kernel:first", 0);
	told(clEnqueueNDRangeKernel(queue, second, 1, NULL, &size, NULL, 0, NULL, NULL),
	     "kernel:second", 0);
	told(clEnqueueNDRangeKernel(queue, first, 4, NULL, &size, &group, 0, NULL, NULL),
	     "kernel:first", 0); /* four dimensions */
	told(clEnqueueTask(queue, first, 0, NULL, NULL), "kernel:first", 0);
	if (code == CL_SUCCESS) {
		cl_check(clSetKernelArg(copy, 0, sizeof(a), &a), "clSetKernelArg");
		told(clEnqueueNDRangeKernel(queue, copy, 1, NULL, &odd, NULL, 0, NULL, NULL),
		     "kernel:second", 0);
	}
	clFinish(queue);
}

/* Everything waits for the program; the second kernel waits for the first. */
static void out_of_order(cl_device_id device)
{
	const cl_queue_properties properties[] = {
		CL_QUEUE_PROPERTIES,
		CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
		0,
	};
	const size_t size = 1024;
	cl_event start, after;
	cl_int code;

	cl_check(clFinish(queue), "clFinish");
	queue = clCreateCommandQueueWithProperties(context, device, properties, &code);
	cl_check(code, "clCreateCommandQueueWithProperties");
	start = clCreateUserEvent(context, &code);
	cl_check(code, "clCreateUserEvent");
	told(clEnqueueNDRangeKernel(queue, first, 1, NULL, &size, NULL, 1, &start, &after),
	     "kernel:first", 0);
	told(clEnqueueNDRangeKernel(queue, second, 1, NULL, &size, NULL, 1, &after, NULL),
	     "kernel:second", 0);
	told(clEnqueueNDRangeKernel(queue, first, 1, NULL, &size, NULL, 0, NULL, NULL),
	     "kernel:first", 0);
	clFlush(queue);
	cl_check(clSetUserEventStatus(start, CL_COMPLETE), "clSetUserEventStatus");
	cl_check(clFinish(queue), "clFinish");
}

int main(void)
{
	static char host[SIZE];
	cl_device_id device = cl_first_device();
	const char *text = source;
	cl_int code;

	context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	cl_check(code, "clCreateContext");
	queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
	cl_check(code, "clCreateCommandQueueWithProperties");
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
	cl_check(code, "clCreateProgramWithSource");
	cl_check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	first = clCreateKernel(program, "first", &code);
	cl_check(code, "clCreateKernel");
	second = clCreateKernel(program, "second", &code);
	cl_check(code, "clCreateKernel");
	a = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &code);
	cl_check(code, "clCreateBuffer");
	b = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &code);
	cl_check(code, "clCreateBuffer");
	cl_check(clSetKernelArg(first, 0, sizeof(a), &a), "clSetKernelArg");
	cl_check(clSetKernelArg(second, 0, sizeof(a), &a), "clSetKernelArg");
	buffers(host);
	svm(host);
	kernels();
	out_of_order(device);
	return 0;
}
