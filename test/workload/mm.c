/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mm [SECONDS [SIZE]]: multiplies matrices on an OpenCL device in three versions, each launched by
 * a C function of its own, and measures by OpenCL's own event profiling how long each took. Its
 * last lines, one for each version, are for programs to read:
 *
 *	mm_basic launches 70 device_ns 4567890123 share 0.4991
 *
 * With MM_EACH in the environment each launch has a line before: "mm_basic took 65241287".
 * Results are checked. Without arguments it takes some 10 s; the basic version gets about half of
 * the device's time, the local one 30 % and the tiled one 20 %.
 */
#include "mm.h"

#include <dlfcn.h>
#include <math.h>

/* The kernels' text, with a NUL, from the file that CMake names. */
__asm__(".section .rodata\n"
	"mm_source:\n"
	".incbin \"" MM_SOURCE "\"\n"
	".byte 0\n"
	".text\n");
extern const char mm_source[];

enum {
	BASIC,
	LOCAL,
	TILED,
	VERSIONS
};

struct mm {
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_mem a, b, c;
	size_t size;
	float *host_a, *host_b, *host_c;
	struct mm_version versions[VERSIONS];
	mm_multiply multiply[VERSIONS];
};

__attribute__((noinline)) static void multiply_basic(struct mm_version *version,
						     cl_command_queue queue, size_t size,
						     cl_event *event)
{
	const size_t global[2] = { size, size }, local[2] = { MM_TILE, MM_TILE };

	cl_check(clEnqueueNDRangeKernel(queue, version->kernel, 2, NULL, global, local, 0, NULL,
					event),
		 "clEnqueueNDRangeKernel");
	version->launches++;
}

__attribute__((noinline)) static void multiply_local(struct mm_version *version,
						     cl_command_queue queue, size_t size,
						     cl_event *event)
{
	const size_t global[2] = { size, size }, local[2] = { MM_TILE, MM_TILE };

	cl_check(clEnqueueNDRangeKernel(queue, version->kernel, 2, NULL, global, local, 0, NULL,
					event),
		 "clEnqueueNDRangeKernel: mm_local");
	version->launches++;
}

static void load_plugin(struct mm *mm)
{
	void *library = dlopen(MM_PLUGIN, RTLD_NOW);
	const struct mm_plugin *plugin = library ? dlsym(library, "mm_plugin") : NULL;

	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	mm->multiply[TILED] = plugin->multiply;
}

static void make_program(struct mm *mm, cl_device_id device)
{
	static const char *const names[VERSIONS] = { "mm_basic", "mm_local", "mm_tiled" };
	const char *source = mm_source;
	cl_int code;

	mm->program = clCreateProgramWithSource(mm->context, 1, &source, NULL, &code);
	cl_check(code, "clCreateProgramWithSource");
	cl_check(clBuildProgram(mm->program, 1, &device, "", NULL, NULL), "clBuildProgram");
	for (int i = 0; i < VERSIONS; i++) {
		mm->versions[i].kernel_name = names[i];
		mm->versions[i].kernel = clCreateKernel(mm->program, names[i], &code);
		cl_check(code, names[i]);
	}
}

static float *random_matrix(size_t count)
{
	float *values = malloc(count * sizeof(*values));

	if (!values)
		exit(1);
	for (size_t i = 0; i < count; i++)
		values[i] = (float)rand() / (float)RAND_MAX;
	return values;
}

static void make_buffers(struct mm *mm)
{
	size_t count = mm->size * mm->size, bytes = count * sizeof(float);
	cl_int n = (cl_int)mm->size, code[3];

	mm->host_a = random_matrix(count);
	mm->host_b = random_matrix(count);
	mm->host_c = random_matrix(count);
	mm->a = clCreateBuffer(mm->context, CL_MEM_READ_ONLY, bytes, NULL, &code[0]);
	mm->b = clCreateBuffer(mm->context, CL_MEM_READ_ONLY, bytes, NULL, &code[1]);
	mm->c = clCreateBuffer(mm->context, CL_MEM_WRITE_ONLY, bytes, NULL, &code[2]);
	for (int i = 0; i < 3; i++)
		cl_check(code[i], "clCreateBuffer");
	cl_check(clEnqueueWriteBuffer(mm->queue, mm->a, CL_TRUE, 0, bytes, mm->host_a, 0, NULL,
				      NULL),
		 "clEnqueueWriteBuffer");
	cl_check(clEnqueueWriteBuffer(mm->queue, mm->b, CL_TRUE, 0, bytes, mm->host_b, 0, NULL,
				      NULL),
		 "clEnqueueWriteBuffer");
	for (int i = 0; i < VERSIONS; i++) {
		cl_kernel kernel = mm->versions[i].kernel;
		cl_check(clSetKernelArg(kernel, 0, sizeof(n), &n), "clSetKernelArg");
		cl_check(clSetKernelArg(kernel, 1, sizeof(mm->a), &mm->a), "clSetKernelArg");
		cl_check(clSetKernelArg(kernel, 2, sizeof(mm->b), &mm->b), "clSetKernelArg");
		cl_check(clSetKernelArg(kernel, 3, sizeof(mm->c), &mm->c), "clSetKernelArg");
	}
}

static void run(struct mm *mm, int version)
{
	cl_ulong start, end;
	cl_event event;

	mm->multiply[version](&mm->versions[version], mm->queue, mm->size, &event);
	cl_check(clWaitForEvents(1, &event), "clWaitForEvents");
	cl_check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start,
					 NULL),
		 "clGetEventProfilingInfo");
	cl_check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL),
		 "clGetEventProfilingInfo");
	mm->versions[version].device_ns += end - start;
	if (getenv("MM_EACH"))
		printf("%s took %llu\n", mm->versions[version].kernel_name,
		       (unsigned long long)(end - start));
	clReleaseEvent(event);
}

/* Some elements of the result against the host's own. */
static void check(struct mm *mm, int version)
{
	size_t n = mm->size, bytes = n * n * sizeof(float);

	cl_check(
		clEnqueueReadBuffer(mm->queue, mm->c, CL_TRUE, 0, bytes, mm->host_c, 0, NULL, NULL),
		"clEnqueueReadBuffer");
	for (int i = 0; i < 100; i++) {
		size_t row = (size_t)rand() % n, column = (size_t)rand() % n;
		double sum = 0;
		for (size_t k = 0; k < n; k++)
			sum += (double)mm->host_a[row * n + k] * mm->host_b[k * n + column];
		if (fabs(sum - mm->host_c[row * n + column]) > 1e-4 * sum) {
			fprintf(stderr, "%s: wrong result at %zu, %zu\n",
				mm->versions[version].kernel_name, row, column);
			exit(1);
		}
	}
	memset(mm->host_c, 0, bytes);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 10.0;
	struct mm mm = {
		.size = argc > 2 ? (size_t)atoi(argv[2]) : 512,
		.multiply = { multiply_basic, multiply_local, NULL },
	};
	cl_device_id device = cl_first_device();
	cl_ulong total = 0;
	cl_int code;

	if (mm.size == 0 || mm.size % (MM_TILE * MM_COLUMNS) != 0) {
		fprintf(stderr, "the size must be a multiple of %d\n", MM_TILE * MM_COLUMNS);
		return 1;
	}
	mm.context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	cl_check(code, "clCreateContext");
	mm.queue = clCreateCommandQueue(mm.context, device, CL_QUEUE_PROFILING_ENABLE, &code);
	cl_check(code, "clCreateCommandQueue");
	load_plugin(&mm);
	make_program(&mm, device);
	make_buffers(&mm);

	double end = now_seconds() + seconds;
	for (int round = 0; round == 0 || now_seconds() < end; round++) {
		for (int i = 0; i < VERSIONS; i++) {
			run(&mm, i);
			check(&mm, i);
		}
		if (round)
			continue;
		/* The kernels are compiled. */
		puts("under way");
		fflush(stdout);
	}

	for (int i = 0; i < VERSIONS; i++)
		total += mm.versions[i].device_ns;
	for (int i = 0; i < VERSIONS; i++)
		printf("%s launches %llu device_ns %llu share %.4f\n", mm.versions[i].kernel_name,
		       (unsigned long long)mm.versions[i].launches,
		       (unsigned long long)mm.versions[i].device_ns,
		       (double)mm.versions[i].device_ns / (double)total);
	return 0;
}
