/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is watched of OpenCL: the functions of the ICD loader, which every program calls whatever
 * vendor's runtime is behind it (signatures: CL/cl.h of the OpenCL 3.0 headers), and three that
 * POCL exports, unchanged from 3.1 to 7.0 (lib/CL/pocl_util.h there).
 *
 * Not watched: clReleaseKernel and the like, since a handle's next creation says as much; extension
 * functions, which programs reach through clGetExtensionFunctionAddress and not by name.
 */
#include "accel/opencl.h"

#include "accel/site_table.h"
#include "inject/message.h"

#define LOADER "libOpenCL"
#define POCL   "libpocl"

/* Longest kernel name taken along: SYCL and template names reach some thousand characters. */
#define NAME_MAX_BYTES 4096
/* Longest program. Generated sources of some hundred kilobytes exist (CLBlast, Halide). */
#define PROGRAM_MAX_BYTES (1u << 20)
/* Kernels that one clCreateKernelsInProgram makes. */
#define KERNELS_MAX 1024

#define TRANSFER_READ         0
#define TRANSFER_WRITE        1
#define TRANSFER_COPY         2
#define TRANSFER_READ_IMAGE   3
#define TRANSFER_WRITE_IMAGE  4
#define TRANSFER_COPY_IMAGE   5
#define TRANSFER_IMAGE_BUFFER 6
#define TRANSFER_BUFFER_IMAGE 7
#define TRANSFER_MAP          8
#define TRANSFER_MAP_IMAGE    9
#define TRANSFER_UNMAP        10
#define TRANSFER_READ_RECT    11
#define TRANSFER_WRITE_RECT   12
#define TRANSFER_COPY_RECT    13
#define TRANSFER_MIGRATE      14
#define TRANSFER_FILL         15
#define TRANSFER_FILL_IMAGE   16
#define TRANSFER_SVM_MEMCPY   17
#define TRANSFER_SVM_FILL     18
#define TRANSFER_SVM_MAP      19
#define TRANSFER_SVM_UNMAP    20
#define TRANSFER_SVM_MIGRATE  21

static const struct opencl_transfer transfers[] = {
	[TRANSFER_READ] = { 0x11f3, LAUNCH_COPY, false, true, "Read Buffer" },
	[TRANSFER_WRITE] = { 0x11f4, LAUNCH_COPY, false, true, "Write Buffer" },
	[TRANSFER_COPY] = { 0x11f5, LAUNCH_COPY, false, true, "Copy Buffer" },
	[TRANSFER_READ_IMAGE] = { 0x11f6, LAUNCH_COPY, false, false, "Read Image" },
	[TRANSFER_WRITE_IMAGE] = { 0x11f7, LAUNCH_COPY, false, false, "Write Image" },
	[TRANSFER_COPY_IMAGE] = { 0x11f8, LAUNCH_COPY, false, false, "Copy Image" },
	[TRANSFER_IMAGE_BUFFER] = { 0x11f9, LAUNCH_COPY, false, false, "Copy Image to Buffer" },
	[TRANSFER_BUFFER_IMAGE] = { 0x11fa, LAUNCH_COPY, false, false, "Copy Buffer to Image" },
	[TRANSFER_MAP] = { 0x11fb, LAUNCH_COPY, false, false, "Map Buffer" },
	[TRANSFER_MAP_IMAGE] = { 0x11fc, LAUNCH_COPY, false, false, "Map Image" },
	[TRANSFER_UNMAP] = { 0x11fd, LAUNCH_COPY, false, false, "Unmap" },
	[TRANSFER_READ_RECT] = { 0x1201, LAUNCH_COPY, true, false, "Read Buffer Rect" },
	[TRANSFER_WRITE_RECT] = { 0x1202, LAUNCH_COPY, true, false, "Write Buffer Rect" },
	[TRANSFER_COPY_RECT] = { 0x1203, LAUNCH_COPY, true, false, "Copy Buffer Rect" },
	[TRANSFER_MIGRATE] = { 0x1206, LAUNCH_COPY, false, false, "Migrate" },
	[TRANSFER_FILL] = { 0x1207, LAUNCH_FILL, false, true, "Fill Buffer" },
	[TRANSFER_FILL_IMAGE] = { 0x1208, LAUNCH_FILL, false, false, "Fill Image" },
	[TRANSFER_SVM_MEMCPY] = { 0x120a, LAUNCH_COPY, false, true, "SVM Memcpy" },
	[TRANSFER_SVM_FILL] = { 0x120b, LAUNCH_FILL, false, true, "SVM Fill" },
	[TRANSFER_SVM_MAP] = { 0x120c, LAUNCH_COPY, false, false, "SVM Map" },
	[TRANSFER_SVM_UNMAP] = { 0x120d, LAUNCH_COPY, false, false, "SVM Unmap" },
	[TRANSFER_SVM_MIGRATE] = { 0x120e, LAUNCH_COPY, false, false, "SVM Migrate" },
};

const struct opencl_transfer *opencl_transfer(const struct probe_site *site)
{
	return site->id < SITE_TRANSFERS ? NULL : &transfers[site->id - SITE_TRANSFERS];
}

/* An enqueue call: its first value is the queue. */
#define ENQUEUE(number, function, ...)                                                         \
	{                                                                                      \
		.library = LOADER, .symbol = (function), .id = (number), .flags = PROBE_STACK, \
		.value = {                                                                     \
			ARG(0),                                                                \
			##__VA_ARGS__                                                          \
		}                                                                              \
	}
#define TRANSFER(number, function, ...) ENQUEUE(SITE_TRANSFERS + (number), function, ##__VA_ARGS__)

#define CREATE(number, function)                                 \
	.library = LOADER, .symbol = (function), .id = (number), \
	.flags = PROBE_AT_RETURN | PROBE_OPTIONAL

#define POCL_EVENT(number, function, ...)                                                       \
	{                                                                                       \
		.library = POCL, .symbol = (function), .id = (number), .value = { __VA_ARGS__ } \
	}
/* A part of struct _cl_event in which all layouts known have the queue, the command's type and the
 * command one after the other. */
#define POCL_WINDOW_VALUE                                                                          \
	{                                                                                          \
		.base = PROBE_ARGUMENT, .index = 0, .derefs = 1, .count = POCL_WINDOW, .offset = { \
			POCL_WINDOW_OFFSET                                                         \
		}                                                                                  \
	}
/* Words of the command that is value @number: its kernel is the third of an ND-range's in all
 * versions from 0.14 to 7.0, and the numbers of work groups come next. */
#define POCL_RUN_VALUE(number)                                                          \
	{                                                                               \
		.base = PROBE_VALUE, .index = (number), .derefs = 1, .count = POCL_RUN, \
		.offset = {                                                             \
			16                                                              \
		}                                                                       \
	}
/* Of the window's words the command is at +88 of the event in 3.1, and at +96 in builds from 2025 on,
 * where each object has one word more in front. */
#define POCL_RUN_VALUES                                    \
	POCL_RUN_VALUE(1 + (88 - POCL_WINDOW_OFFSET) / 8), \
		POCL_RUN_VALUE(1 + (96 - POCL_WINDOW_OFFSET) / 8)

const struct probe_site opencl_sites[] = {
	/* queue, kernel, dimensions, global size, local size */
	ENQUEUE(SITE_NDRANGE, "clEnqueueNDRangeKernel", ARG(1), ARG32(2), WORDS(4, 3), WORDS(5, 3)),
	ENQUEUE(SITE_TASK, "clEnqueueTask", ARG(1)),
	ENQUEUE(SITE_NATIVE, "clEnqueueNativeKernel"),

	TRANSFER(TRANSFER_READ, "clEnqueueReadBuffer", ARG(4)),
	TRANSFER(TRANSFER_WRITE, "clEnqueueWriteBuffer", ARG(4)),
	TRANSFER(TRANSFER_COPY, "clEnqueueCopyBuffer", ARG(5)),
	TRANSFER(TRANSFER_READ_IMAGE, "clEnqueueReadImage"),
	TRANSFER(TRANSFER_WRITE_IMAGE, "clEnqueueWriteImage"),
	TRANSFER(TRANSFER_COPY_IMAGE, "clEnqueueCopyImage"),
	TRANSFER(TRANSFER_IMAGE_BUFFER, "clEnqueueCopyImageToBuffer"),
	TRANSFER(TRANSFER_BUFFER_IMAGE, "clEnqueueCopyBufferToImage"),
	TRANSFER(TRANSFER_MAP, "clEnqueueMapBuffer", ARG(5)),
	TRANSFER(TRANSFER_MAP_IMAGE, "clEnqueueMapImage"),
	TRANSFER(TRANSFER_UNMAP, "clEnqueueUnmapMemObject"),
	TRANSFER(TRANSFER_READ_RECT, "clEnqueueReadBufferRect", WORDS(5, 3)),
	TRANSFER(TRANSFER_WRITE_RECT, "clEnqueueWriteBufferRect", WORDS(5, 3)),
	TRANSFER(TRANSFER_COPY_RECT, "clEnqueueCopyBufferRect", WORDS(5, 3)),
	TRANSFER(TRANSFER_MIGRATE, "clEnqueueMigrateMemObjects"),
	TRANSFER(TRANSFER_FILL, "clEnqueueFillBuffer", ARG(5)),
	TRANSFER(TRANSFER_FILL_IMAGE, "clEnqueueFillImage"),
	TRANSFER(TRANSFER_SVM_MEMCPY, "clEnqueueSVMMemcpy", ARG(4)),
	TRANSFER(TRANSFER_SVM_FILL, "clEnqueueSVMMemFill", ARG(4)),
	TRANSFER(TRANSFER_SVM_MAP, "clEnqueueSVMMap", ARG(4)),
	TRANSFER(TRANSFER_SVM_UNMAP, "clEnqueueSVMUnmap"),
	TRANSFER(TRANSFER_SVM_MIGRATE, "clEnqueueSVMMigrateMem"),

	ENQUEUE(SITE_FINISH, "clFinish"),
	/* number of events, events */
	{ .library = LOADER,
	  .symbol = "clWaitForEvents",
	  .id = SITE_WAIT,
	  .flags = PROBE_STACK,
	  .value = { ARG32(0), WORDS(1, WAIT_EVENTS) } },
	/* Makes the runtime work on the caller's thread, outside any launch. */
	{ .library = LOADER, .symbol = "clSetUserEventStatus", .id = SITE_USER_EVENT },

	/* program, name, kernel */
	{ CREATE(SITE_CREATE_KERNEL, "clCreateKernel"), .value = { ARG(0), ARG(1), RETURN },
	  .text = { .kind = PROBE_TEXT_STRING, .pointer = 1, .max = NAME_MAX_BYTES },
	  .lasts = 1 + 2 },
	/* program, number of places, places */
	{ CREATE(SITE_CREATE_KERNELS, "clCreateKernelsInProgram"),
	  .value = { ARG(0), ARG32(1), ARG(2), RETURN },
	  .text = { .kind = PROBE_TEXT_BYTES,
		    .pointer = 2,
		    .count = 1,
		    .scale = 8,
		    .max = KERNELS_MAX * 8 },
	  .lasts = 1 },
	/* kernel, its copy */
	{ CREATE(SITE_CLONE_KERNEL, "clCloneKernel"), .value = { ARG(0), RETURN }, .lasts = 1 + 1 },
	/* kernel, what is asked, room, place, error: a name that the program asked for itself */
	{ CREATE(SITE_KERNEL_INFO, "clGetKernelInfo"),
	  .value = { ARG(0), ARG32(1), ARG(2), ARG(3), RETURN },
	  .text = { .kind = PROBE_TEXT_STRING, .pointer = 3, .max = NAME_MAX_BYTES } },

	/* number of strings, strings, lengths, program */
	{ CREATE(SITE_SOURCE, "clCreateProgramWithSource"),
	  .value = { ARG32(1), ARG(2), ARG(3), RETURN },
	  .text = { .kind = PROBE_TEXT_STRINGS,
		    .pointer = 1,
		    .count = 0,
		    .lengths = 2,
		    .max = PROGRAM_MAX_BYTES },
	  .lasts = 1 + 3 },
	/* bytes, size, program */
	{ CREATE(SITE_IL, "clCreateProgramWithIL"), .value = { ARG(1), ARG(2), RETURN },
	  .text = { .kind = PROBE_TEXT_BYTES,
		    .pointer = 0,
		    .count = 1,
		    .scale = 1,
		    .max = PROGRAM_MAX_BYTES },
	  .lasts = 1 + 2 },
	/* bytes for the first device, their size, program */
	{ CREATE(SITE_BINARY, "clCreateProgramWithBinary"),
	  .value = { WORDS(4, 1), WORDS(3, 1), RETURN },
	  .text = { .kind = PROBE_TEXT_BYTES,
		    .pointer = 0,
		    .count = 1,
		    .scale = 1,
		    .max = PROGRAM_MAX_BYTES },
	  .lasts = 1 + 2 },

	/* device, properties, queue */
	{ CREATE(SITE_QUEUE, "clCreateCommandQueue"), .value = { ARG(1), ARG(2), RETURN },
	  .lasts = 1 + 2 },
	/* device, key and value pairs, queue */
	{ CREATE(SITE_QUEUE_PROPERTIES, "clCreateCommandQueueWithProperties"),
	  .value = { ARG(1), WORDS(2, 6), RETURN }, .lasts = 1 + 7 },

	POCL_EVENT(SITE_POCL_SUBMITTED, "pocl_update_event_submitted", ARG(0), POCL_WINDOW_VALUE,
		   POCL_RUN_VALUES),
	POCL_EVENT(SITE_POCL_RUNNING, "pocl_update_event_running", ARG(0)),
	/* function, line, event, message */
	POCL_EVENT(SITE_POCL_COMPLETE, "pocl_update_event_complete", ARG(2)),
	TOLD_BATCH(SITE_TOLD, INJECT_OPENCL_LIBRARY, INJECT_OPENCL_BATCH, INJECT_OPENCL_LISTENERS),
	TOLD_REQUEST(SITE_TIMES, INJECT_OPENCL_LIBRARY, INJECT_OPENCL_TIMES, INJECT_OPENCL_TIMERS),
	{ 0 },
};

/* POCL 3.1 to 7.0 all have this one. */
const char *const opencl_libraries[] = { "libOpenCL.so.1", "libpocl.so.2", INJECT_OPENCL_FILE,
					 NULL };
