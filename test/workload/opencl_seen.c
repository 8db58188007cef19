/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl_seen: what a program sees of its queues and events, in lines that do not depend on who looks on: properties, how
 * often events are referred to, whether they have times, in which order they complete, and what the work has done.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include "opencl.h"

#define COUNT 4

static const char source[] = "kernel void add(global int *a, int b) { a[get_global_id(0)] += b; }";

static cl_context context;
static cl_device_id device;
static cl_kernel kernel;
static cl_mem buffer;
static char order[COUNT + 1];
static int completed;

static void show_queue(const char *name, cl_command_queue queue)
{
	cl_queue_properties pairs[32] = { 0 };
	cl_command_queue_properties bits = 0;
	cl_uint references = 0;
	size_t size = 0;

	cl_check(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(bits), &bits, NULL),
		 "properties");
	cl_check(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof(references),
				       &references, NULL),
		 "references");
	printf("%s: properties %#llx, %u references", name, (unsigned long long)bits, references);
	cl_int rc = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof(pairs), pairs,
					  &size);
	printf(", array %d of %zu:", rc, size);
	for (size_t i = 0; i < size / sizeof(*pairs); i++)
		printf(" %#llx", (unsigned long long)pairs[i]);
	rc = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, 1, pairs, &size);
	printf(", in one byte %s\n", rc == CL_SUCCESS || size ? "something" : "nothing");
}

static void on_complete(cl_event event, cl_int status, void *data)
{
	(void)event, (void)status;
	order[__atomic_fetch_add(&completed, 1, __ATOMIC_SEQ_CST)] = *(char *)data;
}

/* POCL keeps one for as long as it calls back. */
static void show_references(const char *name, cl_event event)
{
	const struct timespec pause = { 0, 5000000 };
	cl_uint references = 0;

	for (int i = 0; i < 200 && references != 1; i++) {
		cl_check(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof(references),
					&references, NULL),
			 "references");
		nanosleep(&pause, NULL);
	}
	printf("%s: %u references\n", name, references);
}

static void show_event(const char *name, cl_event event)
{
	cl_ulong start = 0, end = 0;
	cl_int status = 0;

	cl_check(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
				NULL),
		 "status");
	cl_int rc = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start),
					    &start, NULL);
	cl_int rc2 =
		clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL);
	printf("%s: status %d, times %d %d %s\n", name, status, rc, rc2,
	       start && end >= start ? "in order" : "none");
}

static void use_queue(const char *name, cl_command_queue queue)
{
	static char letters[] = "abcd";
	const size_t size = 16;
	const int zero = 0, one = 1;
	cl_event event[COUNT], fill, read;
	int result[16] = { 0 };

	show_queue(name, queue);
	completed = 0;
	memset(order, 0, sizeof(order));
	cl_check(clEnqueueFillBuffer(queue, buffer, &zero, sizeof(zero), 0, sizeof(result), 0, NULL,
				     &fill),
		 "fill");
	cl_check(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "argument");
	cl_check(clSetKernelArg(kernel, 1, sizeof(one), &one), "argument");
	for (int i = 0; i < COUNT; i++) {
		cl_check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 1,
						i ? &event[i - 1] : &fill, &event[i]),
			 "enqueue");
		cl_check(clSetEventCallback(event[i], CL_COMPLETE, on_complete, &letters[i]),
			 "callback");
	}
	cl_check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(result), result, 1,
				     &event[COUNT - 1], &read),
		 "read");
	cl_check(clFinish(queue), "finish");
	while (__atomic_load_n(&completed, __ATOMIC_SEQ_CST) < COUNT)
		;
	show_references("last", event[COUNT - 1]);
	show_event("last", event[COUNT - 1]);
	show_event("fill", fill);
	show_event("read", read);
	printf("result %d %d, completed %s\n", result[0], result[15], order);
	for (int i = 0; i < COUNT; i++)
		cl_check(clReleaseEvent(event[i]), "release");
	cl_check(clReleaseEvent(fill), "release");
	cl_check(clReleaseEvent(read), "release");
	/* What fails has no event. */
	event[0] = NULL;
	printf("without a dimension %d, event %s\n",
	       clEnqueueNDRangeKernel(queue, kernel, 0, NULL, &size, NULL, 0, NULL, &event[0]),
	       event[0] ? "one" : "none");
	cl_check(clReleaseCommandQueue(queue), "release");
}

int main(void)
{
	const cl_queue_properties none[] = { 0 };
	const cl_queue_properties plain[] = { CL_QUEUE_PROPERTIES, 0, 0 };
	const cl_queue_properties order_only[] = { CL_QUEUE_PROPERTIES,
						   CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0 };
	const cl_queue_properties timed[] = { CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0 };
	const struct {
		const char *name;
		const cl_queue_properties *pairs;
	} queues[] = { { "null", NULL },
		       { "none", none },
		       { "plain", plain },
		       { "out of order", order_only },
		       { "timed", timed } };
	const char *text = source;
	cl_program program;
	cl_int rc;

	device = cl_first_device();
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	cl_check(rc, "context");
	program = clCreateProgramWithSource(context, 1, &text, NULL, &rc);
	cl_check(rc, "program");
	cl_check(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
	kernel = clCreateKernel(program, "add", &rc);
	cl_check(rc, "kernel");
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &rc);
	cl_check(rc, "buffer");
	use_queue("old", clCreateCommandQueue(context, device, 0, &rc));
	use_queue("old timed",
		  clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &rc));
	for (size_t i = 0; i < sizeof(queues) / sizeof(*queues); i++)
		use_queue(queues[i].name, clCreateCommandQueueWithProperties(context, device,
									     queues[i].pairs, &rc));
	return 0;
}
