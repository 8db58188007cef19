/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library inside a program that uses OpenCL: where kernels' code is, asked of Intel's driver as they are made, and of
 * kernels that are there already as they are enqueued. The loader takes it as a layer (OPENCL_LAYERS), or it is put into
 * a running program. Launches themselves are seen from outside, at the loader. Other drivers do not know what is asked,
 * and of theirs nothing is told.
 */
#include "inject/batch.h"
#include "inject/channel.h"
#include "inject/kernels.h"
#include "inject/opencl_calls.h"
#include "inject/opencl_time.h"

#include <stdlib.h>
#include <string.h>

#define OURS(name, place, type, parameters)  [NUMBER_##name] = { #name, (void *)our_##name, NULL },
#define OTHER(name, place, type, parameters) [NUMBER_##name] = { #name, NULL, NULL },
struct hook opencl_hooks[HOOK_COUNT] = { OPENCL_LED(OURS)[LED_COUNT] = { "", NULL, NULL },
					 OPENCL_CALLED(OTHER) };
#define PLACE(name, place, type, parameters) [NUMBER_##name] = place,
static const uint16_t places[HOOK_COUNT] = { OPENCL_LED(PLACE)[LED_COUNT] = 0,
					     OPENCL_CALLED(PLACE) };

#define DEVICES_MAX 64
#define NAME_BYTES  4096
#define IMAGE_MAX   (64u << 20)

static const char *const not_led[] = { "libOpenCL", "libigdrcl", "libaccel-prof", NULL };

static struct known programs;
static bool is_layer;

static void find(void)
{
	if (!is_layer)
		hook_find(opencl_hooks, HOOK_COUNT, "libOpenCL");
}

/* The first device's file, of those that the driver has one for each. */
static void tell_image(void *program, cl_number devices)
{
	size_t sizes[DEVICES_MAX] = { 0 }, sum = 0;
	unsigned char *images[DEVICES_MAX], *bytes;

	if (REAL(clGetProgramInfo)(program, CL_PROGRAM_DEBUG_SIZES, devices * sizeof(*sizes), sizes,
				   NULL) != CL_OK)
		return;
	for (cl_number i = 0; i < devices; i++) {
		if (sizes[i] > IMAGE_MAX - sum)
			return;
		sum += sizes[i];
	}
	bytes = sum ? calloc(1, sum) : NULL;
	if (!bytes)
		return;
	sum = 0;
	for (cl_number i = 0; i < devices; i++) {
		images[i] = bytes + sum;
		sum += sizes[i];
	}
	/* What is no ELF file is of the compilers of before 2023, which no one can read. */
	if (REAL(clGetProgramInfo)(program, CL_PROGRAM_DEBUG, devices * sizeof(*images), images,
				   NULL) == CL_OK &&
	    sizes[0] > 4 && memcmp(bytes, "\177ELF", 4) == 0)
		batch_code((uintptr_t)program, bytes, sizes[0]);
	free(bytes);
	batch_send();
}

/* With the lock. The first of the program's devices, or NULL. */
static void *tell_program(void *program)
{
	struct known_slot *slot = known_find(&programs, program);
	void *devices[DEVICES_MAX] = { NULL };
	cl_number count = 0;

	if (REAL(clGetProgramInfo)(program, CL_PROGRAM_DEVICE_COUNT, sizeof(count), &count, NULL) !=
		    CL_OK ||
	    !count || count > DEVICES_MAX ||
	    REAL(clGetProgramInfo)(program, CL_PROGRAM_DEVICE_LIST, count * sizeof(*devices),
				   devices, NULL) != CL_OK)
		return NULL;
	if (!slot)
		slot = known_add(&programs, program, NULL);
	if (slot && slot->session != watch_session()) {
		slot->session = watch_session();
		tell_image(program, count);
	}
	return devices[0];
}

static uint32_t pci_of(void *device)
{
	uint32_t pci[4];

	if (REAL(clGetDeviceInfo)(device, CL_DEVICE_PCI, sizeof(pci), pci, NULL) != CL_OK)
		return 0;
	return pci[0] << 16 | (pci[1] & 0xff) << 8 | (pci[2] & 0x1f) << 3 | (pci[3] & 7);
}

static void tell_kernel(void *kernel, void *owner)
{
	struct inject_kernel message = { .handle = (uintptr_t)kernel };
	char name[NAME_BYTES] = "";
	void *program = NULL, *device;
	size_t size = 0;

	(void)owner;
	if (!REAL(clGetKernelInfo) || !REAL(clGetProgramInfo) || !REAL(clGetDeviceInfo))
		return;
	/* No other driver knows it. */
	if (REAL(clGetKernelInfo)(kernel, CL_KERNEL_ADDRESS, sizeof(message.address),
				  &message.address, NULL) != CL_OK ||
	    REAL(clGetKernelInfo)(kernel, CL_KERNEL_OF, sizeof(program), &program, NULL) != CL_OK)
		return;
	device = tell_program(program);
	if (REAL(clGetKernelInfo)(kernel, CL_KERNEL_BINARY, 0, NULL, &size) == CL_OK)
		message.size = size;
	if (REAL(clGetKernelInfo)(kernel, CL_KERNEL_NAME, sizeof(name) - 1, name, NULL) == CL_OK)
		message.name = batch_name(name);
	message.module = (uintptr_t)program;
	message.device = (uintptr_t)device;
	message.pci = device ? pci_of(device) : 0;
	batch_kernel(&message);
	batch_send();
}

const struct kernels_source kernels_source = {
	opencl_hooks, HOOK_COUNT, LED_COUNT, not_led, find, tell_kernel, opencl_time_look,
};

/* Its code will be another's, or elsewhere. */
static void forget_program(void *program)
{
	kernels_lock();
	known_renew(&programs, program);
	kernels_unlock();
}

cl_result our_clReleaseProgram(void *program)
{
	cl_number references = 0;

	if (REAL(clGetProgramInfo) &&
	    REAL(clGetProgramInfo)(program, CL_PROGRAM_REFERENCES, sizeof(references), &references,
				   NULL) == CL_OK &&
	    references <= 1)
		forget_program(program);
	return REAL(clReleaseProgram)(program);
}

cl_result our_clReleaseKernel(void *kernel)
{
	cl_number references = 0;

	if (REAL(clGetKernelInfo) &&
	    REAL(clGetKernelInfo)(kernel, CL_KERNEL_REFERENCES, sizeof(references), &references,
				  NULL) == CL_OK &&
	    references <= 1)
		kernels_gone(kernel);
	return REAL(clReleaseKernel)(kernel);
}

cl_result our_clBuildProgram(void *program, cl_number count, void *const *devices,
			     const char *options, void *notify, void *data)
{
	forget_program(program);
	return REAL(clBuildProgram)(program, count, devices, options, notify, data);
}

void *our_clCreateKernel(void *program, const char *name, cl_result *error)
{
	void *kernel;

	kernels_enter();
	kernel = REAL(clCreateKernel)(program, name, error);
	if (kernel)
		kernels_made(kernel, program);
	watch_leave();
	return kernel;
}

cl_result our_clCreateKernelsInProgram(void *program, cl_number room, void **created,
				       cl_number *count)
{
	cl_number made = 0;
	cl_result rc;

	kernels_enter();
	rc = REAL(clCreateKernelsInProgram)(program, room, created, &made);
	for (cl_number i = 0; rc == CL_OK && created && i < made && i < room; i++)
		kernels_made(created[i], program);
	if (count)
		*count = made;
	watch_leave();
	return rc;
}

void *our_clCloneKernel(void *kernel, cl_result *error)
{
	void *clone;

	kernels_enter();
	clone = REAL(clCloneKernel)(kernel, error);
	if (clone)
		kernels_made(clone, NULL);
	watch_leave();
	return clone;
}

/* Without times they are jumps. */
#define WORK(name, kind, ...)                                           \
	struct opencl_timing timing;                                    \
	if (!opencl_time_is_wanted())                                   \
		return REAL(name)(__VA_ARGS__, count, events, event);   \
	opencl_time_begin(&timing, queue, INJECT_LAUNCH_##kind, event); \
	return opencl_time_end(&timing, REAL(name)(__VA_ARGS__, count, events, timing.event))

cl_result our_clEnqueueNDRangeKernel(void *queue, void *kernel, cl_number dimensions,
				     const size_t *offset, const size_t *global,
				     const size_t *local, cl_number count, void *const *events,
				     void **event)
{
	kernels_pass(kernel);
	WORK(clEnqueueNDRangeKernel, KERNEL, queue, kernel, dimensions, offset, global, local);
}

cl_result our_clEnqueueTask(void *queue, void *kernel, cl_number count, void *const *events,
			    void **event)
{
	kernels_pass(kernel);
	WORK(clEnqueueTask, KERNEL, queue, kernel);
}

cl_result our_clEnqueueReadBuffer(void *queue, void *buffer, cl_number blocking, size_t offset,
				  size_t size, void *to, cl_number count, void *const *events,
				  void **event)
{
	WORK(clEnqueueReadBuffer, COPY, queue, buffer, blocking, offset, size, to);
}

cl_result our_clEnqueueWriteBuffer(void *queue, void *buffer, cl_number blocking, size_t offset,
				   size_t size, const void *from, cl_number count,
				   void *const *events, void **event)
{
	WORK(clEnqueueWriteBuffer, COPY, queue, buffer, blocking, offset, size, from);
}

cl_result our_clEnqueueCopyBuffer(void *queue, void *from, void *to, size_t from_offset,
				  size_t to_offset, size_t size, cl_number count,
				  void *const *events, void **event)
{
	WORK(clEnqueueCopyBuffer, COPY, queue, from, to, from_offset, to_offset, size);
}

cl_result our_clEnqueueFillBuffer(void *queue, void *buffer, const void *pattern,
				  size_t pattern_size, size_t offset, size_t size, cl_number count,
				  void *const *events, void **event)
{
	WORK(clEnqueueFillBuffer, FILL, queue, buffer, pattern, pattern_size, offset, size);
}

cl_result our_clEnqueueSVMMemcpy(void *queue, cl_number blocking, void *to, const void *from,
				 size_t size, cl_number count, void *const *events, void **event)
{
	WORK(clEnqueueSVMMemcpy, COPY, queue, blocking, to, from, size);
}

cl_result our_clEnqueueSVMMemFill(void *queue, void *to, const void *pattern, size_t pattern_size,
				  size_t size, cl_number count, void *const *events, void **event)
{
	WORK(clEnqueueSVMMemFill, FILL, queue, to, pattern, pattern_size, size);
}

EXPORT int accel_prof_opencl_start(void *self, void *unused);
int accel_prof_opencl_start(void *self, void *unused)
{
	(void)unused;
	return kernels_start_inserted(self);
}

EXPORT cl_result clGetLayerInfo(cl_number what, size_t room, void *value, size_t *size);
cl_result clGetLayerInfo(cl_number what, size_t room, void *value, size_t *size)
{
	static const cl_number version = CL_LAYER_VERSION_VALUE;
	static const char title[] = "accel-prof";
	const void *answer = what == CL_LAYER_VERSION ? (const void *)&version : title;
	size_t length = what == CL_LAYER_VERSION ? sizeof(version) : sizeof(title);

	if ((what != CL_LAYER_VERSION && what != CL_LAYER_TITLE) || (value && room < length))
		return CL_WRONG_VALUE;
	if (value)
		memcpy(value, answer, length);
	if (size)
		*size = length;
	return CL_OK;
}

/* The loader's own table, with ours in some places. */
EXPORT cl_result clInitLayer(cl_number count, void *const *target, cl_number *ret_count,
			     void *const **ret_table);
cl_result clInitLayer(cl_number count, void *const *target, cl_number *ret_count,
		      void *const **ret_table)
{
	static void *table[CL_PLACES];

	if (!target || !ret_count || !ret_table || count <= CL_PLACE_TASK)
		return CL_WRONG_VALUE;
	if (count > CL_PLACES)
		count = CL_PLACES;
	memcpy(table, target, count * sizeof(*table));
	is_layer = true;
	for (size_t i = 0; i < HOOK_COUNT; i++) {
		if (i == LED_COUNT || places[i] >= count || !target[places[i]])
			continue;
		opencl_hooks[i].real = target[places[i]];
		if (opencl_hooks[i].ours)
			table[places[i]] = opencl_hooks[i].ours;
	}
	*ret_count = count;
	*ret_table = table;
	if (watch_is_heard())
		batch_here(true);
	return CL_OK;
}
