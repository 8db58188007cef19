/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA calls as the probes see them, and the records that must come of them. Handles are made up. */
#include "runtime.h"

#include "inject/message.h"

#include <elf.h>

#define MODULE   0x6000
#define FUNCTION 0x7000
#define KERNEL   0x7100
#define STREAM   0x5000
#define CONTEXT  0x4000
#define STUB     0x400100

static void look_up(struct runtime *t, const char *symbol, uint64_t from, uint64_t handle,
		    const char *name)
{
	runtime_hit(t, (struct hit){ symbol, .tid = 1, .value = { 0x10, from, 0x20, handle, 0 },
				     .text = name });
}

static void load(struct runtime *t, const char *symbol, uint64_t module, uint64_t address,
		 const void *image, size_t size)
{
	runtime_hit(t, (struct hit){ symbol, .tid = 1, .value = { 0x10, address, module, 0 },
				     .text = image, .text_size = size });
}

static uint64_t launch(struct runtime *t, const char *symbol, uint32_t tid, uint64_t function)
{
	return runtime_hit(t, (struct hit){ symbol, .tid = tid,
					    .value = { function, 1, 2, 3, 4, 5, 6, STREAM } });
}

static void test_launches(void **state)
{
	static struct runtime t;

	(void)state;
	runtime_open(&t);
	load(&t, "cuModuleLoadData", MODULE, 0x9000, "image", 0);
	look_up(&t, "cuModuleGetFunction", MODULE, FUNCTION, "_Z3addPf");
	look_up(&t, "cuLibraryGetKernel", MODULE, KERNEL, "_Z3subPf");
	/* What the function is called in a context is the kernel's. */
	runtime_hit(&t, (struct hit){ "cuKernelGetFunction", .tid = 1,
				      .value = { 0x10, KERNEL, 0x7200, 0 } });
	uint64_t time = launch(&t, "cuLaunchKernel", 1, FUNCTION);
	launch(&t, "cuLaunchCooperativeKernel", 2, 0x7200);
	/* The configuration: 9 x 8 x 7 blocks of 32 x 2 x 1, 0 bytes, the stream. */
	runtime_hit(&t, (struct hit){ "cuLaunchKernelEx", .tid = 1,
				      .value = { KERNEL, 9 | 8ull << 32, 7 | 32ull << 32,
						 2 | 1ull << 32, 0, STREAM } });
	launch(&t, "cuLaunchKernel", 1, 0x7777); /* looked up before the recording */
	runtime_finish(&t);

	assert_int_equal(runtime_count(&t, RECORD_LAUNCH), 4);
	const struct record_launch *r = launch_record(&t, 0);
	assert_int_equal(r->time_ns, time);
	assert_int_equal(r->kind, LAUNCH_KERNEL);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(r->grid[i], 1 + i);
		assert_int_equal(r->block[i], 4 + i);
	}
	assert_int_equal(runtime_record(&t, RECORD_QUEUE, 0)->queue.handle, STREAM);
	assert_int_equal(r->queue, runtime_record(&t, RECORD_QUEUE, 0)->queue.id);
	assert_string_equal(launched(&t, 0), "_Z3addPf");
	assert_string_equal(launched(&t, 1), "_Z3subPf");
	assert_string_equal(launched(&t, 2), "_Z3subPf");
	assert_string_equal(launched(&t, 3), "");
	r = launch_record(&t, 2);
	assert_int_equal(r->grid[0] * 10000 + r->grid[1] * 100 + r->grid[2], 90807);
	assert_int_equal(r->block[0] * 10000 + r->block[1] * 100 + r->block[2], 320201);
	assert_string_equal(runtime_info(&t, "cuda.launches"), "4");
	assert_string_equal(runtime_info(&t, "cuda.unnamed-kernels"), "1");
	assert_string_not_equal(runtime_info(&t, "missing.device-time"), "");
	runtime_close(&t);
}

/* Failed calls leave nothing; a handle that is given out again is something else. */
static void test_failed_and_unloaded(void **state)
{
	static struct runtime t;

	(void)state;
	runtime_open(&t);
	load(&t, "cuModuleLoadData", MODULE, 0x9000, "image", 0);
	runtime_hit(&t, (struct hit){ "cuModuleGetFunction", .tid = 1, .text = "none",
				      .value = { 0x10, MODULE, 0x20, FUNCTION, 500 } });
	look_up(&t, "cuModuleGetFunction", MODULE, FUNCTION, "old");
	launch(&t, "cuLaunchKernel", 1, FUNCTION);
	runtime_hit(&t, (struct hit){ "cuModuleUnload", .tid = 1, .value = { MODULE } });
	load(&t, "cuModuleLoadDataEx", MODULE, 0x9000, "image", 0);
	look_up(&t, "cuModuleGetFunction", MODULE, FUNCTION, "new");
	launch(&t, "cuLaunchKernel", 1, FUNCTION);
	/* Equally named, but of another module: another kernel. */
	runtime_hit(&t, (struct hit){ "cuModuleUnload", .tid = 1, .value = { MODULE } });
	load(&t, "cuModuleLoadData", MODULE, 0x9000, "image", 0);
	look_up(&t, "cuModuleGetFunction", MODULE, FUNCTION, "new");
	launch(&t, "cuLaunchKernel", 1, FUNCTION);
	runtime_finish(&t);
	assert_string_equal(launched(&t, 0), "old");
	assert_string_equal(launched(&t, 1), "new");
	assert_string_equal(launched(&t, 2), "new");
	assert_int_not_equal(launch_record(&t, 1)->kernel, launch_record(&t, 2)->kernel);
	assert_int_equal(runtime_count(&t, RECORD_KERNEL), 3);
	runtime_close(&t);
}

static void test_transfers(void **state)
{
	static struct runtime t;

	(void)state;
	runtime_open(&t);
	runtime_hit(&t, (struct hit){ "cuMemcpyHtoDAsync_v2", .tid = 1, .value = { 100, STREAM } });
	runtime_hit(&t, (struct hit){ "cuMemcpyDtoH_v2", .tid = 1, .value = { 200 } });
	runtime_hit(&t, (struct hit){ "cuMemsetD32Async", .tid = 1, .value = { 50, 1 } });
	runtime_hit(&t, (struct hit){ "cuMemsetD16_v2", .tid = 1, .value = { UINT64_MAX } });
	runtime_hit(&t, (struct hit){ "cuMemcpy2DAsync_v2", .tid = 1, .value = { 77, STREAM } });
	runtime_hit(&t, (struct hit){ "cuMemsetD8Async_ptsz", .tid = 1, .value = { 9, 0 } });
	runtime_finish(&t);

	static const struct {
		const char *name;
		uint32_t kind;
		uint64_t bytes;
	} expected[] = {
		{ "Memcpy HtoD", LAUNCH_COPY, 100 }, { "Memcpy DtoH", LAUNCH_COPY, 200 },
		{ "Memset", LAUNCH_FILL, 200 },      { "Memset", LAUNCH_FILL, 0 },
		{ "Memcpy 2D/3D", LAUNCH_COPY, 0 },  { "Memset", LAUNCH_FILL, 9 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		const struct record_launch *r = launch_record(&t, i);
		assert_string_equal(runtime_text(&t, r->name), expected[i].name);
		assert_int_equal(r->kind, expected[i].kind);
		assert_int_equal(r->bytes, expected[i].bytes);
	}
	/* CU_STREAM_LEGACY (1) is the stream 0; a thread's own default stream is another. */
	assert_int_equal(launch_record(&t, 1)->queue, launch_record(&t, 2)->queue);
	assert_int_not_equal(launch_record(&t, 5)->queue, launch_record(&t, 1)->queue);
	assert_int_equal(launch_record(&t, 4)->queue, launch_record(&t, 0)->queue);
	runtime_close(&t);
}

static void test_devices(void **state)
{
	static struct runtime t;

	(void)state;
	runtime_open(&t);
	runtime_hit(&t, (struct hit){ "cuDeviceGetName", .tid = 1, .value = { 0x10, 3, 0 },
				      .text = "NVIDIA H100" });
	runtime_hit(&t, (struct hit){ "cuDevicePrimaryCtxRetain", .tid = 1,
				      .value = { 0x10, 3, CONTEXT, 0 } });
	launch(&t, "cuLaunchKernel", 1, FUNCTION);
	launch(&t, "cuLaunchKernel", 2, FUNCTION); /* its context is not known */
	runtime_hit(&t, (struct hit){ "cuCtxSetCurrent", .tid = 2, .value = { CONTEXT } });
	launch(&t, "cuLaunchKernel", 2, FUNCTION);
	runtime_finish(&t);

	const struct record_device *device = &runtime_record(&t, RECORD_DEVICE, 0)->device;
	assert_string_equal(runtime_text(&t, device->name), "NVIDIA H100");
	assert_string_equal(runtime_text(&t, device->runtime), "cuda");
	assert_int_equal(device->index, 3);
	assert_int_equal(runtime_count(&t, RECORD_DEVICE), 2);
	assert_int_equal(launch_record(&t, 0)->queue, launch_record(&t, 2)->queue);
	assert_int_not_equal(launch_record(&t, 0)->queue, launch_record(&t, 1)->queue);
	runtime_close(&t);
}

static void test_waits(void **state)
{
	static struct runtime t;
	uint64_t start, end;

	(void)state;
	runtime_open(&t);
	start = runtime_hit(&t,
			    (struct hit){ "cuStreamSynchronize", .tid = 1, .value = { STREAM } });
	launch(&t, "cuLaunchKernel", 2, FUNCTION);
	struct accel_event event = {
		.time_ns = end = t.now += 10,
		.pid = 101,
		.tid = 1,
		.process = 1,
		.thread = 1001,
		.site = NULL,
	};
	for (size_t i = 0; i < accel_site_count(t.accel); i++)
		if (strcmp(accel_site(t.accel, i)->symbol, "cuStreamSynchronize") == 0 &&
		    accel_site(t.accel, i)->flags & PROBE_AT_RETURN)
			event.site = accel_site(t.accel, i);
	assert_non_null(event.site);
	assert_int_equal(accel_event(t.accel, &event), 0);
	assert_int_equal(accel_event(t.accel, &event), 0); /* a second end is none */
	runtime_finish(&t);

	const struct record_sync *sync = &runtime_record(&t, RECORD_SYNC, 0)->sync;
	assert_int_equal(sync->time_ns, start);
	assert_int_equal(sync->duration_ns, end - start);
	assert_int_equal(sync->thread, 1001);
	assert_string_equal(runtime_text(&t, sync->name), "cuStreamSynchronize");
	assert_int_equal(sync->queue, launch_record(&t, 0)->queue);
	assert_int_equal(runtime_count(&t, RECORD_SYNC), 1);
	runtime_close(&t);
}

static void runtime_launch(struct runtime *t)
{
	runtime_hit(t, (struct hit){
			       "cudaLaunchKernel", .tid = 1,
			       .value = { STUB, 9 | 8ull << 32, 7, 32 | 2ull << 32, 1, STREAM } });
}

static void register_stub(struct runtime *t)
{
	runtime_hit(t, (struct hit){ "__cudaRegisterFunction", .tid = 1, .value = { STUB, 0x20 },
				     .text = "_Z5scalePf" });
}

/* The runtime's library hands launches on to functions of the driver that are watched... */
static void test_runtime_nested(void **state)
{
	static struct runtime t;

	(void)state;
	runtime_open(&t);
	register_stub(&t);
	look_up(&t, "cuLibraryGetKernel", MODULE, FUNCTION, "_Z5scalePf");
	for (int i = 0; i < 3; i++) {
		runtime_launch(&t);
		launch(&t, "cuLaunchKernel", 1, FUNCTION);
	}
	runtime_finish(&t);
	assert_int_equal(runtime_count(&t, RECORD_LAUNCH), 3);
	assert_string_equal(launched(&t, 0), "_Z5scalePf");
	runtime_close(&t);
}

/* ... or by a way of its own: then its calls are the launches, the first one without its stack. */
static void test_runtime_direct(void **state)
{
	static struct runtime t;

	(void)state;
	runtime_open(&t);
	register_stub(&t);
	for (int i = 0; i < 3; i++)
		runtime_launch(&t);
	/* From CUDA 13 on a handle stands for the stub. */
	runtime_hit(&t, (struct hit){ "__cudaGetKernel", .tid = 1,
				      .value = { 0x10, STUB, 0x8000, 0 } });
	runtime_hit(&t, (struct hit){ "cudaLaunchKernel_ptsz", .tid = 1,
				      .value = { 0x8000, 1, 1, 1, 1, STREAM } });
	runtime_finish(&t);
	assert_int_equal(runtime_count(&t, RECORD_LAUNCH), 4);
	const struct record_launch *r = launch_record(&t, 0);
	assert_int_equal(r->grid[0] * 10000 + r->grid[1] * 100 + r->grid[2], 90807);
	assert_int_equal(r->block[0] * 10000 + r->block[1] * 100 + r->block[2], 320201);
	assert_string_equal(launched(&t, 0), "_Z5scalePf");
	assert_string_equal(launched(&t, 3), "_Z5scalePf");
	runtime_close(&t);
}

/* A module's image is kept when it is a cubin, whole; what is not is left. */
static void test_image(void **state)
{
	static struct runtime t;
	static unsigned char image[400 << 10];
	Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64 },
		.e_machine = 190,
		.e_shoff = sizeof(image) - 2 * 64,
		.e_shnum = 2,
		.e_shentsize = 64,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(image); i++)
		image[i] = (unsigned char)(i * 7);
	memcpy(image, &header, sizeof(header));
	runtime_open(&t);
	runtime_memory(&t, 0x900000, image, sizeof(image));
	/* The probe took its beginning; the rest is still there. */
	load(&t, "cuModuleLoadData", MODULE, 0x900000, image, 256 << 10);
	/* Freed since. */
	load(&t, "cuModuleLoadData", MODULE + 1, 0xa00000, image, 256 << 10);
	load(&t, "cuModuleLoadData", MODULE + 2, 0xa00000, ".version 8.0", 0);
	header.e_shoff = UINT64_MAX;
	load(&t, "cuModuleLoadData", MODULE + 3, 0xa00000, &header, sizeof(header));
	look_up(&t, "cuModuleGetFunction", MODULE, FUNCTION, "f");
	runtime_finish(&t);

	const struct record_code_object *object =
		&runtime_record(&t, RECORD_CODE_OBJECT, 0)->code_object;
	size_t parts = runtime_count(&t, RECORD_CODE_OBJECT);
	assert_int_equal(object->kind, CODE_OBJECT_CUBIN);
	assert_int_equal(object->total_bytes, sizeof(image));
	for (size_t i = 0; i < parts; i++)
		assert_int_equal(runtime_record(&t, RECORD_CODE_OBJECT, i)->code_object.id,
				 object->id);
	assert_int_equal(runtime_record(&t, RECORD_KERNEL, 0)->kernel.code_object, object->id);
	runtime_close(&t);
}

#define GRAPH      0xa000
#define EXECUTABLE 0xb000

/* What is called on a captured stream is no launch, and belongs to what is made of the graph. */
static void test_graph(void **state)
{
	static struct runtime t;

	(void)state;
	runtime_open(&t);
	runtime_hit(&t, (struct hit){ "cuStreamBeginCapture_v2", .tid = 1, .value = { STREAM } });
	launch(&t, "cuLaunchKernel", 1, FUNCTION);
	/* Another stream is not captured. */
	runtime_hit(&t, (struct hit){ "cuMemsetD32Async", .tid = 1, .value = { 50, STREAM + 1 } });
	runtime_hit(&t, (struct hit){ "cuStreamEndCapture", .tid = 1,
				      .value = { STREAM, 0x10, GRAPH, 0 } });
	/* Function, 1 x 2 x 3 blocks of 4 x 5 x 6; of any kind, a kernel's and an event's (7). */
	runtime_hit(&t, (struct hit){ "cuGraphAddKernelNode_v2", .tid = 1,
				      .value = { GRAPH, KERNEL, 1 | 2ull << 32, 3 | 4ull << 32,
						 5 | 6ull << 32 } });
	runtime_hit(&t, (struct hit){ "cuGraphAddNode_v2", .tid = 1,
				      .value = { GRAPH, 0, KERNEL, 7, 8, 9 } });
	runtime_hit(&t, (struct hit){ "cuGraphAddNode_v2", .tid = 1,
				      .value = { GRAPH, 7, KERNEL, 7, 8, 9 } });
	runtime_hit(&t, (struct hit){ "cuGraphInstantiateWithFlags", .tid = 1,
				      .value = { 0x10, GRAPH, EXECUTABLE, 0 } });
	runtime_hit(&t, (struct hit){ "cuGraphLaunch", .tid = 1, .value = { EXECUTABLE, STREAM } });
	runtime_hit(&t, (struct hit){ "cuGraphLaunch", .tid = 1, .value = { 0xbad, STREAM } });
	launch(&t, "cuLaunchKernel", 1, FUNCTION);
	runtime_finish(&t);

	static const uint32_t flags[] = {
		LAUNCH_CAPTURED, 0, LAUNCH_CAPTURED, LAUNCH_CAPTURED, 0, 0, 0
	};
	assert_int_equal(runtime_count(&t, RECORD_LAUNCH), ARRAY_SIZE(flags));
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		assert_int_equal(launch_record(&t, i)->flags, flags[i]);
	uint64_t graph = launch_record(&t, 0)->graph;
	assert_int_not_equal(graph, 0);
	assert_int_equal(launch_record(&t, 2)->graph, graph);
	assert_int_equal(launch_record(&t, 2)->block[2], 6);
	assert_int_equal(launch_record(&t, 3)->grid[0], 7);
	assert_int_equal(launch_record(&t, 4)->graph, graph);
	assert_int_equal(launch_record(&t, 4)->kind, LAUNCH_GRAPH);
	assert_int_equal(launch_record(&t, 5)->graph, 0);
	assert_int_equal(launch_record(&t, 6)->graph, 0);
	assert_string_equal(runtime_info(&t, "cuda.launches"), "4");
	assert_string_equal(runtime_info(&t, "cuda.captured"), "3");
	runtime_close(&t);
}

/* A graph's work names the node, which may be a copy of the one that was recorded. */
static void test_graph_told(void **state)
{
	static struct runtime t;
	struct inject_work work = {
		.header = { INJECT_WORK, 0, sizeof(work) },
		.correlation = 77,
		.kind = INJECT_LAUNCH_KERNEL,
		.start_ns = 5000,
		.end_ns = 6000,
		.node = 901,
	};
	struct {
		struct inject_node copied, of_nothing;
		struct inject_work work[3];
	} batch = {
		.copied = { { INJECT_NODE, 0, sizeof(batch.copied) }, 901, 900 },
		.of_nothing = { { INJECT_NODE, 0, sizeof(batch.copied) }, 902, 888 },
		.work = { work, work, work },
	};

	(void)state;
	batch.work[1].node = 902;
	batch.work[2].node = 900;
	batch.work[2].kind = INJECT_LAUNCH_COPY;
	runtime_open(&t);
	runtime_hit(&t, (struct hit){ INJECT_CUDA_LAUNCH, .tid = 1,
				      .value = { INJECT_LAUNCH_KERNEL | (uint64_t)INJECT_LAUNCH_NODE
										<< 32,
						 FUNCTION, 1 | 2ull << 32, 3 | 4ull << 32,
						 5 | 6ull << 32, 900 } });
	runtime_hit(&t, (struct hit){ INJECT_CUDA_LAUNCH, .tid = 1,
				      .value = { INJECT_LAUNCH(77, INJECT_LAUNCH_GRAPH, 0) } });
	runtime_hit(&t,
		    (struct hit){ INJECT_CUDA_BATCH, .tid = 9, .value = { 0x9000, sizeof(batch) },
				  .text = (const char *)&batch, .text_size = sizeof(batch) });
	runtime_finish(&t);

	const struct record_launch *recorded = launch_record(&t, 0);
	assert_int_equal(recorded->flags, LAUNCH_CAPTURED);
	assert_int_equal(recorded->block[1], 5);
	assert_int_equal(runtime_count(&t, RECORD_LAUNCH), 2);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 0)->dispatch.captured,
			 recorded->correlation);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 1)->dispatch.captured, 0);
	assert_int_equal(runtime_record(&t, RECORD_COPY, 0)->copy.captured, recorded->correlation);
	runtime_close(&t);
}

/* Told by the library inside: launches, then their work; and what is no work is left. */
static void test_told(void **state)
{
	static struct runtime t;
	struct inject_work work = {
		.header = { INJECT_WORK, 0, sizeof(work) },
		.correlation = 77,
		.kind = INJECT_LAUNCH_KERNEL,
		.device = 2,
		.stream = 7,
		.start_ns = 5000,
		.end_ns = 6000,
		.name = 1,
	};
	struct {
		struct inject_name name;
		char text[8];
		struct inject_work work[4];
		struct inject_dropped dropped;
	} batch = {
		.name = { { INJECT_NAME, 0, sizeof(batch.name) + 8 }, 1, 8 },
		.text = { '_', 'Z', '3', 'a', 'd', 'd', 'P', 'f' },
		.work = { work, work, work, work },
		.dropped = { { INJECT_DROPPED, 0, sizeof(batch.dropped) }, 3 },
	};

	(void)state;
	batch.work[1].correlation = 5; /* launched before the recording */
	batch.work[2].kind = INJECT_LAUNCH_COPY;
	batch.work[2].correlation = 78;
	batch.work[2].detail = 2;
	batch.work[2].bytes = 512;
	batch.work[3].end_ns = 4999; /* ends before it starts */
	runtime_open(&t);
	/* The first one is seen from outside, too. */
	launch(&t, "cuLaunchKernel", 1, FUNCTION);
	runtime_hit(&t, (struct hit){
				INJECT_CUDA_LAUNCH, .tid = 1,
				.value = { INJECT_LAUNCH(77, INJECT_LAUNCH_KERNEL, INJECT_AGE_MAX),
					   FUNCTION, 1 | 2ull << 32, 3 | 4ull << 32, 5 | 6ull << 32,
					   STREAM } });
	runtime_hit(&t, (struct hit){ INJECT_CUDA_LAUNCH, .tid = 1,
				      .value = { INJECT_LAUNCH(78, INJECT_LAUNCH_COPY, 0) } });
	/* On its way when the kernel did not know yet that it is told. */
	launch(&t, "cuLaunchKernel", 2, FUNCTION);
	runtime_hit(&t,
		    (struct hit){ INJECT_CUDA_BATCH, .tid = 9, .value = { 0x9000, sizeof(batch) },
				  .text = (const char *)&batch, .text_size = sizeof(batch) });
	runtime_finish(&t);

	assert_int_equal(runtime_count(&t, RECORD_LAUNCH), 3);
	assert_int_equal(runtime_count(&t, RECORD_DISPATCH), 2);
	const struct record_dispatch *done = &runtime_record(&t, RECORD_DISPATCH, 0)->dispatch;
	assert_int_equal(done->correlation, launch_record(&t, 0)->correlation);
	assert_int_equal(done->start_ns, 5000);
	assert_int_equal(done->end_ns, 6000);
	const struct record_copy *copy = &runtime_record(&t, RECORD_COPY, 0)->copy;
	assert_int_equal(copy->correlation, launch_record(&t, 1)->correlation);
	assert_string_equal(runtime_text(&t, copy->name), "Memcpy DtoH");
	assert_int_equal(copy->bytes, 512);
	assert_int_equal(launch_record(&t, 2)->flags, LAUNCH_BEFORE_WINDOW);
	assert_string_equal(launched(&t, 2), "_Z3addPf");
	assert_int_equal(runtime_record(&t, RECORD_LOST, 0)->lost.count, 3);
	assert_string_equal(runtime_info(&t, "missing.device-time"), "");
	runtime_close(&t);
}

static void tell_launch(struct runtime *t, uint32_t tid, uint32_t correlation, uint64_t age)
{
	runtime_hit(t,
		    (struct hit){ INJECT_CUDA_LAUNCH, .tid = tid,
				  .value = { INJECT_LAUNCH(correlation, INJECT_LAUNCH_KERNEL, age),
					     FUNCTION, 1 | 2ull << 32, 3 | 4ull << 32,
					     5 | 6ull << 32, STREAM } });
}

/* The library begins to tell while threads launch: each launch is there once. */
static void test_told_midway(void **state)
{
	static struct runtime t;

	(void)state;
	runtime_open(&t);
	/* Two calls that it is in time for, and one that it is too late for. */
	launch(&t, "cuLaunchKernel", 3, FUNCTION);
	launch(&t, "cuLaunchKernel", 1, FUNCTION);
	launch(&t, "cuLaunchKernel", 2, FUNCTION);
	tell_launch(&t, 1, 77, INJECT_AGE_MAX);
	tell_launch(&t, 2, 78, INJECT_AGE_MAX);
	tell_launch(&t, 3, 79, 0);
	tell_launch(&t, 1, 80, 0);
	runtime_finish(&t);
	assert_int_equal(runtime_count(&t, RECORD_LAUNCH), 3 + 2);
	runtime_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_told_midway),
		cmocka_unit_test(test_launches),
		cmocka_unit_test(test_failed_and_unloaded),
		cmocka_unit_test(test_transfers),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_runtime_nested),
		cmocka_unit_test(test_runtime_direct),
		cmocka_unit_test(test_image),
		cmocka_unit_test(test_graph),
		cmocka_unit_test(test_graph_told),
		cmocka_unit_test(test_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
