/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faults FAULT [STEPS]: a loop whose steps give an OpenCL device some work, with one thing done wrong,
 * each in a function of its own; or nothing wrong ("busy", "ahead"). The fault takes most of a
 * step, so that a report that does not name it is mistaken, however slow the machine.
 *
 * Everything is compiled and has run once when it prints "ready PID"; it goes on when it can read a
 * line, so that it can be recorded from there on.
 */
#include "opencl.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#define KERNELS_PER_STEP 3
#define BYTES            (32u << 20)

#define KERNEL(name)                                           \
	"__kernel void " name "(__global float *x, int n) {\n" \
	"	size_t i = get_global_id(0);\n"                      \
	"	float v = x[i];\n"                                   \
	"	for (int k = 0; k < n; k++)\n"                       \
	"		v = v * 0.999f + STEP;\n"                           \
	"	x[i] = v;\n"                                         \
	"}\n"

static const char source[] = KERNEL("work") KERNEL("other") KERNEL("third");

struct run {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue, side;
	cl_kernel kernels[3];
	cl_mem buffer;
	char *host;
	int millisecond; /* so many iterations of a kernel take about one */
	pthread_mutex_t lock;
	atomic_bool is_done;
};

static cl_kernel kernel_of(struct run *r, const char *options, const char *name)
{
	const char *text = source;
	cl_int error;
	cl_program program = clCreateProgramWithSource(r->context, 1, &text, NULL, &error);
	cl_check(error, "clCreateProgramWithSource");
	cl_check(clBuildProgram(program, 1, &r->device, options, NULL, NULL), "clBuildProgram");
	cl_kernel kernel = clCreateKernel(program, name, &error);
	cl_check(error, "clCreateKernel");
	clReleaseProgram(program);
	return kernel;
}

static void enqueue(cl_command_queue queue, cl_kernel kernel, cl_mem buffer, int n, size_t items,
		    const cl_event *before, cl_event *event)
{
	size_t group = items < 64 ? items : 64;
	cl_check(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "clSetKernelArg");
	cl_check(clSetKernelArg(kernel, 1, sizeof(n), &n), "clSetKernelArg");
	cl_check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, before ? 1 : 0,
					before, event),
		 "clEnqueueNDRangeKernel");
}

/* Work for the host, without calls: read so many MB. */
#define READ(bytes, megabytes)                                       \
	({                                                           \
		int sum_ = 0;                                        \
		for (size_t i_ = 0; i_ < (megabytes)*1000000u; i_++) \
			sum_ = (sum_ ^ (bytes)[i_ % BYTES]) * 31;    \
		(char)sum_;                                          \
	})

/* Run each kernel twice, for the first run compiles; the last tells how fast they are. */
static void measure(struct run *r)
{
	int n = 1 << 18;
	double seconds = 0;
	for (int i = 0; i < 6; i++) {
		double begin = now_seconds();
		enqueue(r->queue, r->kernels[i % 3], r->buffer, n, 256, NULL, NULL);
		clFinish(r->queue);
		seconds = now_seconds() - begin;
	}
	enqueue(r->side, r->kernels[0], r->buffer, 1, 64, NULL, NULL);
	enqueue(r->side, r->kernels[1], r->buffer, 1, 64, NULL, NULL);
	clFinish(r->side);
	double per = n / (seconds > 1e-4 ? seconds : 1e-4) * 1e-3;
	r->millisecond = per < 1 ? 1 : (int)per;
}

/* ---- what steps do ---- */

__attribute__((noinline)) static void train(struct run *r)
{
	for (int i = 0; i < KERNELS_PER_STEP; i++)
		enqueue(r->queue, r->kernels[i % 3], r->buffer, 3 * r->millisecond, 256, NULL,
			NULL);
}

__attribute__((noinline)) static void log_loss(struct run *r)
{
	clFinish(r->queue);
	r->host[0] = READ(r->host, 20);
}

static void step_sync(struct run *r, int step)
{
	(void)step;
	for (int i = 0; i < 2; i++) {
		enqueue(r->queue, r->kernels[i], r->buffer, 10 * r->millisecond, 256, NULL, NULL);
		log_loss(r);
	}
}

__attribute__((noinline)) static void load_batch(struct run *r)
{
	r->host[0] = READ(r->host, 50);
}

static void step_loader(struct run *r, int step)
{
	(void)step;
	load_batch(r);
	train(r);
	clFinish(r->queue);
}

static void step_tiny(struct run *r, int step)
{
	(void)step;
	for (int i = 0; i < 200; i++)
		enqueue(r->queue, r->kernels[i % 3], r->buffer, 1, 1, NULL, NULL);
	clFinish(r->queue);
}

__attribute__((noinline)) static void upload(struct run *r)
{
	for (int i = 0; i < 8; i++)
		cl_check(clEnqueueWriteBuffer(r->queue, r->buffer, CL_TRUE, 0, BYTES, r->host, 0,
					      NULL, NULL),
			 "clEnqueueWriteBuffer");
}

static void step_copy(struct run *r, int step)
{
	(void)step;
	upload(r);
	enqueue(r->queue, r->kernels[0], r->buffer, r->millisecond, 256, NULL, NULL);
	clFinish(r->queue);
}

__attribute__((noinline)) static void recompile(struct run *r, int step)
{
	char options[64];
	snprintf(options, sizeof(options), "-DSTEP=0.%d%ldf", step, (long)getpid());
	cl_kernel kernel = kernel_of(r, options, "work");
	enqueue(r->queue, kernel, r->buffer, r->millisecond, 256, NULL, NULL);
	clFinish(r->queue);
	clReleaseKernel(kernel);
}

static void step_recompile(struct run *r, int step)
{
	recompile(r, step);
	train(r);
	clFinish(r->queue);
}

/* Holds the lock nearly all of the time. */
static void *hold(void *data)
{
	struct run *r = data;
	while (!atomic_load(&r->is_done)) {
		pthread_mutex_lock(&r->lock);
		usleep(30000);
		pthread_mutex_unlock(&r->lock);
		usleep(2000);
	}
	return NULL;
}

__attribute__((noinline)) static void update_shared(struct run *r)
{
	pthread_mutex_lock(&r->lock);
	r->host[1]++;
	pthread_mutex_unlock(&r->lock);
}

static void step_lock(struct run *r, int step)
{
	(void)step;
	update_shared(r);
	train(r);
	clFinish(r->queue);
}

static void step_one_kernel(struct run *r, int step)
{
	enqueue(r->queue, r->kernels[0], r->buffer, 18 * r->millisecond, 256, NULL, NULL);
	enqueue(r->queue, r->kernels[1], r->buffer, 2 * r->millisecond, 256, NULL, NULL);
	if (step % 4 == 3)
		clFinish(r->queue);
}

/* Two queues whose kernels have one group each, and an event that orders them needlessly. */
static void step_serial(struct run *r, int step)
{
	(void)step;
	cl_event before = NULL;
	for (int i = 0; i < 8; i++) {
		cl_event event;
		enqueue(i % 2 ? r->side : r->queue, r->kernels[i % 2], r->buffer,
			8 * r->millisecond, 64, before ? &before : NULL, &event);
		clFlush(i % 2 ? r->side : r->queue);
		if (before)
			clReleaseEvent(before);
		before = event;
	}
	clWaitForEvents(1, &before);
	clReleaseEvent(before);
}

__attribute__((noinline)) static void make_scratch(struct run *r)
{
	cl_int error;
	cl_mem scratch = clCreateBuffer(r->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, BYTES,
					r->host, &error);
	cl_check(error, "clCreateBuffer");
	enqueue(r->queue, r->kernels[0], scratch, 1, 256, NULL, NULL);
	clFinish(r->queue);
	clReleaseMemObject(scratch);
}

static void step_allocation(struct run *r, int step)
{
	(void)step;
	make_scratch(r);
	make_scratch(r);
}

static void step_busy(struct run *r, int step)
{
	(void)step;
	train(r);
}

/* Waits, for what was asked for two steps before. */
static void step_ahead(struct run *r, int step)
{
	static cl_event done[3];
	train(r);
	enqueue(r->queue, r->kernels[step % 3], r->buffer, r->millisecond, 256, NULL,
		&done[step % 3]);
	clFlush(r->queue);
	cl_event *before = &done[(step + 1) % 3];
	if (!*before)
		return;
	clWaitForEvents(1, before);
	clReleaseEvent(*before);
	*before = NULL;
}

static const struct fault {
	const char *name;
	void (*step)(struct run *r, int step);
	int steps; /* unless asked for others */
} faults[] = {
	{ "sync", step_sync, 30 },
	{ "loader", step_loader, 20 },
	{ "tiny", step_tiny, 20 },
	{ "copy", step_copy, 10 },
	{ "recompile", step_recompile, 6 },
	{ "lock", step_lock, 20 },
	{ "one-kernel", step_one_kernel, 40 },
	{ "serial", step_serial, 20 },
	{ "allocation", step_allocation, 15 },
	{ "busy", step_busy, 80 },
	{ "ahead", step_ahead, 40 },
};

int main(int argc, char **argv)
{
	struct run r = { .device = cl_first_device(), .lock = PTHREAD_MUTEX_INITIALIZER };
	const struct fault *fault = NULL;
	pthread_t holder;
	cl_int error;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]) && argc > 1; i++)
		fault = strcmp(faults[i].name, argv[1]) ? fault : &faults[i];
	if (!fault) {
		fprintf(stderr, "usage: faults FAULT [STEPS]\n");
		return 1;
	}
	int steps = argc > 2 ? atoi(argv[2]) : fault->steps;

	r.context = clCreateContext(NULL, 1, &r.device, NULL, NULL, &error);
	cl_check(error, "clCreateContext");
	r.queue = clCreateCommandQueue(r.context, r.device, 0, &error);
	cl_check(error, "clCreateCommandQueue");
	r.side = clCreateCommandQueue(r.context, r.device, 0, &error);
	cl_check(error, "clCreateCommandQueue");
	r.buffer = clCreateBuffer(r.context, CL_MEM_READ_WRITE, BYTES, NULL, &error);
	cl_check(error, "clCreateBuffer");
	r.host = calloc(1, BYTES);
	if (!r.host)
		return 1;
	static const char *const names[] = { "work", "other", "third" };
	for (int i = 0; i < 3; i++)
		r.kernels[i] = kernel_of(&r, "-DSTEP=0.25f", names[i]);
	measure(&r);
	printf("ready %ld\n", (long)getpid());
	fflush(stdout);
	char line[16];
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	if (fault->step == step_lock)
		pthread_create(&holder, NULL, hold, &r);
	for (int step = 0; step < steps; step++)
		fault->step(&r, step);
	clFinish(r.queue);
	clFinish(r.side);
	atomic_store(&r.is_done, true);
	if (fault->step == step_lock)
		pthread_join(holder, NULL);
	free(r.host);
	return 0;
}
