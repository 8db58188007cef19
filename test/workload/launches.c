/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launches [-r RATE] [-s SECONDS] [-n COUNT] [-t THREADS] [-q QUEUES] [-e none|all|half] [-k] [-d]
 *
 * Launches a tiny kernel: RATE times a second in all (0, the default: as fast as it goes), from
 * THREADS threads over QUEUES queues, until SECONDS have passed or each thread has made COUNT
 * launches, with or without events. Every thread takes turns between two functions that launch,
 * and prints how often each did. With -k all threads share one kernel object; otherwise each has
 * its own. With -d both functions let a third one do it. The lines are for programs to read:
 *
 *	thread 1234 launch_red 5000 launch_blue 5000
 *	total 10000 seconds 1.000 ns_per_launch 2600 cpu_ns_per_launch 4100
 *
 * where the CPU time is that of all threads, POCL's workers among them.
 */
#include "opencl.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS_MAX 64
#define QUEUES_MAX  16
/* Launches between two waits: enough to keep the queue from running empty. */
#define BATCH 256

enum events {
	EVENTS_NONE,
	EVENTS_ALL,
	EVENTS_HALF
};

struct options {
	double rate, seconds;
	unsigned long count;
	int threads, queues;
	enum events events;
	bool share_kernel, deep;
};

struct worker {
	pthread_t thread;
	const struct options *options;
	cl_command_queue queue;
	cl_kernel kernel;
	pid_t tid;
	unsigned long red, blue, deep;
};

static const size_t one = 1;

__attribute__((noinline)) static void enqueue(struct worker *w, cl_event *event)
{
	cl_check(clEnqueueNDRangeKernel(w->queue, w->kernel, 1, NULL, &one, &one, 0, NULL, event),
		 "enqueue");
	w->deep++;
}

__attribute__((noinline)) static void launch_red_deep(struct worker *w, cl_event *event)
{
	enqueue(w, event);
	w->red++;
}

__attribute__((noinline)) static void launch_blue_deep(struct worker *w, cl_event *event)
{
	enqueue(w, event);
	w->blue++;
}

__attribute__((noinline)) static void launch_red(struct worker *w, cl_event *event)
{
	cl_check(clEnqueueNDRangeKernel(w->queue, w->kernel, 1, NULL, &one, &one, 0, NULL, event),
		 "launch_red");
	w->red++;
}

__attribute__((noinline)) static void launch_blue(struct worker *w, cl_event *event)
{
	cl_check(clEnqueueNDRangeKernel(w->queue, w->kernel, 1, NULL, &one, &one, 0, NULL, event),
		 "launch_blue");
	w->blue++;
}

static void launch(struct worker *w, unsigned long number)
{
	bool with_event = w->options->events == EVENTS_ALL ||
			  (w->options->events == EVENTS_HALF && number % 4 < 2);
	cl_event event = NULL;

	if (w->options->deep)
		(number % 2 ? launch_blue_deep : launch_red_deep)(w, with_event ? &event : NULL);
	else
		(number % 2 ? launch_blue : launch_red)(w, with_event ? &event : NULL);
	if (event)
		clReleaseEvent(event);
}

/* Wait until launch @number is due. */
static void pace(const struct options *o, double start, unsigned long number)
{
	double due = start + (double)number * o->threads / o->rate, left = due - now_seconds();

	if (left > 1e-4) {
		struct timespec pause = { (time_t)left, (long)((left - (time_t)left) * 1e9) };
		nanosleep(&pause, NULL);
	}
}

static void *work(void *data)
{
	struct worker *w = data;
	const struct options *o = w->options;
	double start = now_seconds(), end = start + o->seconds;
	unsigned long number = 0;

	w->tid = (pid_t)syscall(SYS_gettid);
	while ((!o->count || number < o->count) && (!o->seconds || now_seconds() < end)) {
		for (int i = 0; i < BATCH && (!o->count || number < o->count); i++) {
			if (o->rate > 0 && number % 16 == 0)
				pace(o, start, number);
			launch(w, number++);
		}
		cl_check(clFinish(w->queue), "clFinish");
	}
	return NULL;
}

static cl_program make_program(cl_context context, cl_device_id device)
{
	static const char *const source = "kernel void tick(global int *count)\n"
					  "{\n"
					  "	count[get_global_id(0)]++;\n"
					  "}\n";
	const char *text = source;
	cl_int code;
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);

	cl_check(code, "clCreateProgramWithSource");
	cl_check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	return program;
}

static cl_kernel make_kernel(cl_program program, cl_mem buffer)
{
	cl_int code;
	cl_kernel kernel = clCreateKernel(program, "tick", &code);

	cl_check(code, "clCreateKernel");
	cl_check(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "clSetKernelArg");
	return kernel;
}

static double cpu_seconds(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

static void parse(int argc, char **argv, struct options *o)
{
	int c;

	while ((c = getopt(argc, argv, "r:s:n:t:q:e:kd")) != -1) {
		switch (c) {
		case 'r':
			o->rate = atof(optarg);
			break;
		case 's':
			o->seconds = atof(optarg);
			break;
		case 'n':
			o->count = strtoul(optarg, NULL, 10);
			break;
		case 't':
			o->threads = atoi(optarg);
			break;
		case 'q':
			o->queues = atoi(optarg);
			break;
		case 'e':
			o->events = *optarg == 'a'   ? EVENTS_ALL
				    : *optarg == 'h' ? EVENTS_HALF
						     : EVENTS_NONE;
			break;
		case 'k':
			o->share_kernel = true;
			break;
		case 'd':
			o->deep = true;
			break;
		default:
			exit(2);
		}
	}
	if (o->threads < 1 || o->threads > THREADS_MAX || o->queues < 1 || o->queues > QUEUES_MAX ||
	    (!o->seconds && !o->count))
		exit(2);
}

int main(int argc, char **argv)
{
	struct options o = { .threads = 1, .queues = 1 };
	static struct worker workers[THREADS_MAX];
	cl_command_queue queues[QUEUES_MAX];
	cl_device_id device = cl_first_device();
	unsigned long total = 0;
	cl_int code;

	parse(argc, argv, &o);
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	cl_check(code, "clCreateContext");
	for (int i = 0; i < o.queues; i++) {
		queues[i] = clCreateCommandQueue(context, device, 0, &code);
		cl_check(code, "clCreateCommandQueue");
	}
	cl_program program = make_program(context, device);
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &code);
	cl_check(code, "clCreateBuffer");
	cl_kernel shared = make_kernel(program, buffer);
	for (int i = 0; i < o.threads; i++) {
		workers[i].options = &o;
		workers[i].queue = queues[i % o.queues];
		workers[i].kernel = o.share_kernel ? shared : make_kernel(program, buffer);
	}
	/* The kernel is compiled with its first launch; that is not what is measured. */
	cl_check(clEnqueueTask(queues[0], shared, 0, NULL, NULL), "clEnqueueTask");
	cl_check(clFinish(queues[0]), "clFinish");

	puts("under way");
	fflush(stdout);
	double start = now_seconds(), cpu_start = cpu_seconds();
	for (int i = 0; i < o.threads; i++)
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	for (int i = 0; i < o.threads; i++)
		pthread_join(workers[i].thread, NULL);
	double seconds = now_seconds() - start, cpu = cpu_seconds() - cpu_start;
	for (int i = 0; i < o.threads; i++) {
		printf("thread %d launch_red %lu launch_blue %lu\n", (int)workers[i].tid,
		       workers[i].red, workers[i].blue);
		total += workers[i].red + workers[i].blue;
	}
	printf("total %lu seconds %.3f ns_per_launch %.0f cpu_ns_per_launch %.0f\n", total, seconds,
	       seconds * 1e9 / (double)total, cpu * 1e9 / (double)total);
	return 0;
}
