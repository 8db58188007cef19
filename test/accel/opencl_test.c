/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenCL calls as the probes see them, and the records that must come of them. The order of hits is
 * what POCL 3.1 does (seen with a debugger); handles are made up.
 */
#include "accel/kernel_table.h"
#include "runtime.h"

#include "inject/message.h"

#define QUEUE    0x5000
#define QUEUE_2  0x5100
#define PROGRAM  0x6000
#define KERNEL   0x7000
#define KERNEL_2 0x7100

static void create_queue(struct runtime *t, uint64_t queue, uint64_t properties)
{
	runtime_hit(t, (struct hit){ "clCreateCommandQueue", .tid = 1,
				     .value = { 0x4000, properties, queue } });
}

static void create_kernel(struct runtime *t, uint64_t kernel, const char *name)
{
	runtime_hit(t, (struct hit){ "clCreateKernel", .tid = 1,
				     .value = { PROGRAM, 0x123, kernel }, .text = name });
}

static uint64_t launch(struct runtime *t, uint32_t tid, uint64_t queue, uint64_t kernel)
{
	return runtime_hit(t, (struct hit){ "clEnqueueNDRangeKernel", .tid = tid,
					    .value = { queue, kernel, 1, 64, 0, 0, 16 } });
}

/* A step of POCL's event: window as in struct _cl_event of 3.1, queue at +72. */
static uint64_t command(struct runtime *t, const char *step, uint32_t tid, uint64_t event,
			uint64_t queue, uint64_t type, uint64_t kernel)
{
	struct hit hit = {
		step,
		.tid = tid,
		.value = { event, 0xc0ffee, queue, 0x100000000 | type, 0xabc, 0, 0, 0, kernel },
	};

	return runtime_hit(t, hit);
}

#define NDRANGE 0x11f0
#define READ    0x11f3
#define MARKER  0x11fe

static uint64_t submitted(struct runtime *t, uint32_t tid, uint64_t event, uint64_t queue,
			  uint64_t kernel)
{
	return command(t, "pocl_update_event_submitted", tid, event, queue, NDRANGE, kernel);
}

/* The same with the numbers of work groups behind the kernel. */
static uint64_t submitted_grid(struct runtime *t, uint32_t tid, uint64_t event, uint64_t kernel,
			       uint64_t groups)
{
	struct hit hit = {
		"pocl_update_event_submitted",
		.tid = tid,
		.value = { event, 0xc0ffee, QUEUE, NDRANGE, 0xabc, 0, 0, 0, kernel, groups, 1, 1 },
	};

	return runtime_hit(t, hit);
}

static uint64_t running(struct runtime *t, uint32_t tid, uint64_t event)
{
	return command(t, "pocl_update_event_running", tid, event, QUEUE, NDRANGE, 0);
}

static uint64_t complete(struct runtime *t, uint32_t tid, uint64_t event)
{
	return runtime_hit(
		t, (struct hit){ "pocl_update_event_complete", .tid = tid, .value = { event } });
}

static void setup_two_kernels(struct runtime *t)
{
	runtime_open(t);
	create_queue(t, QUEUE, 0);
	create_queue(t, QUEUE_2, 0);
	create_kernel(t, KERNEL, "mm_basic");
	create_kernel(t, KERNEL_2, "mm_tiled");
}

static void assert_dispatch(const struct runtime *t, size_t index, uint64_t correlation,
			    uint64_t start_ns, uint64_t end_ns)
{
	const struct record *record = runtime_record(t, RECORD_DISPATCH, index);

	assert_int_equal(record->dispatch.correlation, correlation);
	assert_int_equal(record->dispatch.start_ns, start_ns);
	assert_int_equal(record->dispatch.end_ns, end_ns);
}

/* One launch, its command submitted inside the call, run and completed by two workers. */
static void test_one_launch(void **state)
{
	static struct runtime t;
	uint64_t launched, start, end;

	(void)state;
	setup_two_kernels(&t);
	launched = launch(&t, 1, QUEUE, KERNEL);
	submitted(&t, 1, 0xe000, QUEUE, KERNEL);
	start = running(&t, 50, 0xe000);
	end = complete(&t, 51, 0xe000);
	runtime_finish(&t);

	const struct record *record = runtime_record(&t, RECORD_LAUNCH, 0);
	assert_int_equal(record->launch.time_ns, launched);
	assert_int_equal(record->launch.thread, 1001);
	assert_int_equal(record->launch.kind, LAUNCH_KERNEL);
	assert_int_equal(record->launch.flags, 0);
	assert_int_equal(record->launch.grid[0], 4);
	assert_int_equal(record->launch.block[0], 16);
	assert_int_equal(record->launch.grid[1], 1);
	assert_int_equal(record->launch.block[2], 1);

	const struct record *kernel = runtime_record(&t, RECORD_KERNEL, 0);
	assert_string_equal(runtime_text(&t, kernel->kernel.name), "mm_basic");
	assert_int_equal(kernel->kernel.handle, KERNEL);
	assert_int_equal(kernel->kernel.program, PROGRAM);
	assert_int_equal(record->launch.kernel, kernel->kernel.id);

	const struct record *queue = runtime_record(&t, RECORD_QUEUE, 0);
	assert_int_equal(queue->queue.handle, QUEUE);
	assert_int_equal(record->launch.queue, queue->queue.id);
	assert_dispatch(&t, 0, record->launch.correlation, start, end);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 0)->dispatch.device,
			 queue->queue.device);
	assert_int_equal(runtime_count(&t, RECORD_DISPATCH), 1);
	assert_string_equal(runtime_info(&t, "opencl.joined-in-call"), "1");
	assert_string_equal(runtime_info(&t, "missing.device-time"), "");
	runtime_close(&t);
}

/* A worker runs and completes the command before the enqueue call is over. */
static void test_done_before_the_call_returns(void **state)
{
	static struct runtime t;
	uint64_t start, end;

	(void)state;
	setup_two_kernels(&t);
	launch(&t, 1, QUEUE, KERNEL);
	submitted(&t, 1, 0xe000, QUEUE, KERNEL);
	start = running(&t, 50, 0xe000);
	end = complete(&t, 50, 0xe000);
	launch(&t, 1, QUEUE, KERNEL_2);
	runtime_finish(&t);
	assert_dispatch(&t, 0, 1, start, end);
	assert_int_equal(runtime_count(&t, RECORD_DISPATCH), 1);
	runtime_close(&t);
}

/* The address of an event is used again at once; each use is a command of its own. */
static void test_event_reuse(void **state)
{
	static struct runtime t;
	uint64_t start[3], end[3];

	(void)state;
	setup_two_kernels(&t);
	for (size_t i = 0; i < 3; i++) {
		uint64_t kernel = i == 1 ? KERNEL_2 : KERNEL;
		launch(&t, 1, QUEUE, kernel);
		submitted(&t, 1, 0xe000, QUEUE, kernel);
		start[i] = running(&t, 50, 0xe000);
		end[i] = complete(&t, 50, 0xe000);
	}
	runtime_finish(&t);
	for (size_t i = 0; i < 3; i++)
		assert_dispatch(&t, i, i + 1, start[i], end[i]);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 1)->dispatch.kernel,
			 runtime_record(&t, RECORD_KERNEL, 1)->kernel.id);
	runtime_close(&t);
}

/* Launches one after the other without waiting: the worker that completes one submits the next. */
static void test_submitted_by_a_worker(void **state)
{
	static struct runtime t;
	uint64_t start[3], end[3];

	(void)state;
	setup_two_kernels(&t);
	launch(&t, 1, QUEUE, KERNEL);
	submitted(&t, 1, 0xe000, QUEUE, KERNEL);
	launch(&t, 1, QUEUE, KERNEL_2);
	start[0] = running(&t, 50, 0xe000);
	launch(&t, 1, QUEUE, KERNEL);
	end[0] = complete(&t, 50, 0xe000);
	submitted(&t, 50, 0xe100, QUEUE, KERNEL_2);
	start[1] = running(&t, 51, 0xe100);
	end[1] = complete(&t, 51, 0xe100);
	submitted(&t, 51, 0xe000, QUEUE, KERNEL);
	start[2] = running(&t, 50, 0xe000);
	end[2] = complete(&t, 50, 0xe000);
	runtime_finish(&t);
	for (size_t i = 0; i < 3; i++)
		assert_dispatch(&t, i, i + 1, start[i], end[i]);
	assert_string_equal(runtime_info(&t, "opencl.joined-in-call"), "1");
	assert_string_equal(runtime_info(&t, "opencl.joined-in-order"), "2");
	runtime_close(&t);
}

/* Two threads, two queues, hits interleaved. */
static void test_threads_and_queues(void **state)
{
	static struct runtime t;
	uint64_t start_1, start_2, end_1, end_2;

	(void)state;
	setup_two_kernels(&t);
	launch(&t, 1, QUEUE, KERNEL);
	launch(&t, 2, QUEUE_2, KERNEL);
	submitted(&t, 2, 0xe200, QUEUE_2, KERNEL);
	submitted(&t, 1, 0xe100, QUEUE, KERNEL);
	start_2 = running(&t, 50, 0xe200);
	start_1 = running(&t, 51, 0xe100);
	end_2 = complete(&t, 50, 0xe200);
	end_1 = complete(&t, 51, 0xe100);
	runtime_finish(&t);
	assert_dispatch(&t, 0, 2, start_2, end_2);
	assert_dispatch(&t, 1, 1, start_1, end_1);
	runtime_close(&t);
}

/* Two threads enqueue to one queue; the second got its lock first. Each is told apart by its own
 * thread, or, submitted by a worker, by its kernel. */
static void test_threads_race_for_a_queue(void **state)
{
	static struct runtime t;
	uint64_t end[4];

	(void)state;
	setup_two_kernels(&t);
	launch(&t, 1, QUEUE, KERNEL);
	launch(&t, 2, QUEUE, KERNEL);
	submitted(&t, 2, 0xe200, QUEUE, KERNEL);
	launch(&t, 2, QUEUE, KERNEL_2);
	running(&t, 50, 0xe200);
	end[0] = complete(&t, 50, 0xe200);
	/* Thread 2's second command was queued before thread 1's. */
	submitted(&t, 50, 0xe300, QUEUE, KERNEL_2);
	running(&t, 50, 0xe300);
	end[1] = complete(&t, 50, 0xe300);
	submitted(&t, 50, 0xe100, QUEUE, KERNEL);
	running(&t, 50, 0xe100);
	end[2] = complete(&t, 50, 0xe100);
	runtime_finish(&t);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 0)->dispatch.correlation, 2);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 0)->dispatch.end_ns, end[0]);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 1)->dispatch.correlation, 3);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 1)->dispatch.end_ns, end[1]);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 2)->dispatch.correlation, 1);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 2)->dispatch.end_ns, end[2]);
	runtime_close(&t);
}

/* A call that fails has no command. The next one that is certain sets the order right. */
static void test_failed_launch(void **state)
{
	static struct runtime t;
	uint64_t end;

	(void)state;
	setup_two_kernels(&t);
	launch(&t, 1, QUEUE, KERNEL); /* 1 fails */
	launch(&t, 1, QUEUE, KERNEL); /* 2 */
	submitted(&t, 1, 0xe000, QUEUE, KERNEL);
	launch(&t, 1, QUEUE, KERNEL); /* 3 */
	running(&t, 50, 0xe000);
	complete(&t, 50, 0xe000);
	submitted(&t, 50, 0xe100, QUEUE, KERNEL);
	running(&t, 50, 0xe100);
	end = complete(&t, 50, 0xe100);
	runtime_finish(&t);
	assert_int_equal(runtime_count(&t, RECORD_LAUNCH), 3);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 0)->dispatch.correlation, 2);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 1)->dispatch.correlation, 3);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 1)->dispatch.end_ns, end);
	runtime_close(&t);
}

/* A launch of four dimensions fails for sure: nothing is joined with it. */
static void test_impossible_launch(void **state)
{
	static struct runtime t;

	(void)state;
	setup_two_kernels(&t);
	runtime_hit(&t, (struct hit){ "clEnqueueNDRangeKernel", .tid = 1,
				      .value = { QUEUE, KERNEL, 4, 64, 1, 1, 16, 1, 1 } });
	launch(&t, 1, QUEUE, KERNEL);
	submitted(&t, 50, 0xe000, QUEUE, KERNEL);
	running(&t, 50, 0xe000);
	complete(&t, 50, 0xe000);
	runtime_finish(&t);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 0)->dispatch.correlation, 2);
	runtime_close(&t);
}

/* Threads race for a queue with one kernel, for different numbers of groups. */
static void test_race_with_one_kernel(void **state)
{
	static struct runtime t;
	struct hit big = { "clEnqueueNDRangeKernel", .tid = 1,
			   .value = { QUEUE, KERNEL, 1, 1600, 1, 1, 16, 1, 1 } };

	(void)state;
	setup_two_kernels(&t);
	launch(&t, 2, QUEUE, KERNEL); /* 1: four groups, and the command agrees */
	submitted_grid(&t, 2, 0xe000, KERNEL, 4);
	runtime_hit(&t, big);         /* 2: a hundred */
	launch(&t, 2, QUEUE, KERNEL); /* 3: four, got the queue first */
	complete(&t, 50, 0xe000);
	submitted_grid(&t, 50, 0xe100, KERNEL, 4);
	complete(&t, 50, 0xe100);
	submitted_grid(&t, 50, 0xe200, KERNEL, 100);
	complete(&t, 50, 0xe200);
	runtime_finish(&t);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 1)->dispatch.correlation, 3);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 2)->dispatch.correlation, 2);
	runtime_close(&t);
}

/* Where the words behind the kernel are something else, they are not gone by. */
static void test_groups_are_elsewhere(void **state)
{
	static struct runtime t;

	(void)state;
	setup_two_kernels(&t);
	launch(&t, 1, QUEUE, KERNEL);
	submitted_grid(&t, 1, 0xe000, KERNEL, 1);
	launch(&t, 1, QUEUE, KERNEL);
	complete(&t, 50, 0xe000);
	submitted_grid(&t, 50, 0xe100, KERNEL, 1);
	complete(&t, 50, 0xe100);
	runtime_finish(&t);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 1)->dispatch.correlation, 2);
	runtime_close(&t);
}

/* Setting a user event's status makes POCL submit what waited for it on that very thread: it is not
 * the thread's last launch. */
static void test_user_event(void **state)
{
	static struct runtime t;

	(void)state;
	setup_two_kernels(&t);
	launch(&t, 1, QUEUE, KERNEL);
	submitted(&t, 1, 0xef00, QUEUE, KERNEL);
	running(&t, 50, 0xef00);
	complete(&t, 50, 0xef00);
	launch(&t, 1, QUEUE, KERNEL); /* 2: waits for the user event */
	launch(&t, 1, QUEUE, KERNEL); /* 3: behind it */
	runtime_hit(&t, (struct hit){ "clSetUserEventStatus", .tid = 1 });
	submitted(&t, 1, 0xe000, QUEUE, KERNEL);
	running(&t, 50, 0xe000);
	complete(&t, 50, 0xe000);
	submitted(&t, 50, 0xe100, QUEUE, KERNEL);
	running(&t, 50, 0xe100);
	complete(&t, 50, 0xe100);
	runtime_finish(&t);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 1)->dispatch.correlation, 2);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 2)->dispatch.correlation, 3);
	runtime_close(&t);
}

/* Commands that are no work of ours, and events that nobody knows, leave no trace. */
static void test_other_commands(void **state)
{
	static struct runtime t;

	(void)state;
	setup_two_kernels(&t);
	command(&t, "pocl_update_event_submitted", 1, 0xe000, QUEUE, MARKER, 0);
	command(&t, "pocl_update_event_running", 50, 0xe900, QUEUE, MARKER, 0);
	complete(&t, 50, 0xe000);
	complete(&t, 50, 0xeeee);
	/* A queue that the program did not make: POCL's own, for migration. */
	command(&t, "pocl_update_event_submitted", 1, 0xe000, 0x9999, READ, 0);
	complete(&t, 50, 0xe000);
	runtime_finish(&t);
	assert_int_equal(runtime_count(&t, RECORD_LAUNCH), 0);
	assert_int_equal(runtime_count(&t, RECORD_DISPATCH), 0);
	runtime_close(&t);
}

static void test_copies(void **state)
{
	static struct runtime t;
	uint64_t start, end;

	(void)state;
	setup_two_kernels(&t);
	runtime_hit(&t, (struct hit){ "clEnqueueReadBuffer", .tid = 1, .value = { QUEUE, 4096 } });
	command(&t, "pocl_update_event_submitted", 1, 0xe000, QUEUE, READ, 0);
	start = running(&t, 50, 0xe000);
	end = complete(&t, 50, 0xe000);
	runtime_hit(&t, (struct hit){ "clEnqueueWriteBufferRect", .tid = 1,
				      .value = { QUEUE, 64, 10, 2 } });
	/* A region whose product overflows is of unknown size. */
	runtime_hit(&t, (struct hit){ "clEnqueueCopyBufferRect", .tid = 1,
				      .value = { QUEUE, 1ull << 40, 1ull << 40, 2 } });
	runtime_hit(&t, (struct hit){ "clEnqueueFillBuffer", .tid = 1, .value = { QUEUE, 32 } });
	runtime_finish(&t);

	const struct record *read = runtime_record(&t, RECORD_LAUNCH, 0);
	assert_int_equal(read->launch.kind, LAUNCH_COPY);
	assert_int_equal(read->launch.bytes, 4096);
	assert_string_equal(runtime_text(&t, read->launch.name), "Read Buffer");
	const struct record *copy = runtime_record(&t, RECORD_COPY, 0);
	assert_int_equal(copy->copy.correlation, read->launch.correlation);
	assert_int_equal(copy->copy.bytes, 4096);
	assert_int_equal(copy->copy.start_ns, start);
	assert_int_equal(copy->copy.end_ns, end);
	assert_int_equal(runtime_record(&t, RECORD_LAUNCH, 1)->launch.bytes, 1280);
	assert_int_equal(runtime_record(&t, RECORD_LAUNCH, 2)->launch.bytes, 0);
	assert_int_equal(runtime_record(&t, RECORD_LAUNCH, 3)->launch.kind, LAUNCH_FILL);
	runtime_close(&t);
}

/* clFinish waits for what was launched before it, however it was submitted. */
static void test_finish(void **state)
{
	static struct runtime t;
	uint64_t waiting, end;

	(void)state;
	setup_two_kernels(&t);
	launch(&t, 1, QUEUE, KERNEL);
	submitted(&t, 1, 0xe000, QUEUE, KERNEL);
	waiting = runtime_hit(&t, (struct hit){ "clFinish", .tid = 1, .value = { QUEUE } });
	launch(&t, 2, QUEUE, KERNEL); /* after it */
	running(&t, 50, 0xe000);
	end = complete(&t, 50, 0xe000);
	submitted(&t, 50, 0xe100, QUEUE, KERNEL);
	running(&t, 50, 0xe100);
	complete(&t, 50, 0xe100);
	launch(&t, 1, QUEUE, KERNEL);
	runtime_hit(&t, (struct hit){ "clFinish", .tid = 3, .value = { QUEUE_2 } }); /* idle */
	runtime_finish(&t);
	assert_int_equal(runtime_count(&t, RECORD_SYNC), 1);
	const struct record *sync = runtime_record(&t, RECORD_SYNC, 0);
	assert_int_equal(sync->sync.time_ns, waiting);
	assert_int_equal(sync->sync.duration_ns, end - waiting);
	assert_int_equal(sync->sync.thread, 1001);
	assert_string_equal(runtime_text(&t, sync->sync.name), "clFinish");
	runtime_close(&t);
}

static void test_wait_for_events(void **state)
{
	static struct runtime t;
	uint64_t waiting, end;

	(void)state;
	setup_two_kernels(&t);
	launch(&t, 1, QUEUE, KERNEL);
	submitted(&t, 1, 0xe000, QUEUE, KERNEL);
	waiting = runtime_hit(
		&t, (struct hit){ "clWaitForEvents", .tid = 1, .value = { 1, 0xe000, 0xe100 } });
	running(&t, 50, 0xe000);
	end = complete(&t, 50, 0xe000);
	complete(&t, 50, 0xe100); /* what lies behind the one event of the list */
	runtime_finish(&t);
	const struct record *sync = runtime_record(&t, RECORD_SYNC, 0);
	assert_int_equal(sync->sync.time_ns, waiting);
	assert_int_equal(sync->sync.duration_ns, end - waiting);
	runtime_close(&t);
}

/* Sizes that do not divide, and a local size left to the runtime. */
static void test_grid(void **state)
{
	static struct runtime t;

	(void)state;
	setup_two_kernels(&t);
	runtime_hit(&t, (struct hit){ "clEnqueueNDRangeKernel", .tid = 1,
				      .value = { QUEUE, KERNEL, 2, 100, 30, 7, 16, 8, 7 } });
	runtime_hit(&t, (struct hit){ "clEnqueueNDRangeKernel", .tid = 1,
				      .value = { QUEUE, KERNEL, 2, 100, 30, 7, 0, 0, 0 } });
	runtime_hit(&t, (struct hit){ "clEnqueueTask", .tid = 1, .value = { QUEUE, KERNEL } });
	runtime_finish(&t);
	const struct record_launch *r = &runtime_record(&t, RECORD_LAUNCH, 0)->launch;
	assert_int_equal(r->grid[0], 7);
	assert_int_equal(r->grid[1], 4);
	assert_int_equal(r->grid[2], 1);
	assert_int_equal(r->block[0], 16);
	assert_int_equal(r->block[1], 8);
	assert_int_equal(r->block[2], 1);
	r = &runtime_record(&t, RECORD_LAUNCH, 1)->launch;
	assert_int_equal(r->grid[0], 0);
	assert_int_equal(r->block[0], 0);
	assert_string_equal(runtime_text(&t, r->metadata), "global=100,30,1");
	r = &runtime_record(&t, RECORD_LAUNCH, 2)->launch;
	assert_int_equal(r->grid[0], 1);
	runtime_close(&t);
}

/* A clone is the same kernel; one made again, too; the same name in another program is not. */
static void test_kernel_identity(void **state)
{
	static struct runtime t;

	(void)state;
	setup_two_kernels(&t);
	runtime_hit(&t, (struct hit){ "clCloneKernel", .tid = 1, .value = { KERNEL_2, 0x7f00 } });
	launch(&t, 1, QUEUE, 0x7f00);
	create_kernel(&t, KERNEL, "mm_tiled"); /* the address of one that was released */
	launch(&t, 1, QUEUE, KERNEL);
	runtime_hit(&t, (struct hit){ "clCreateKernel", .tid = 1,
				      .value = { 0x6100, 0x123, 0x7a00 }, .text = "mm_tiled" });
	launch(&t, 1, QUEUE, 0x7a00);
	runtime_hit(&t, (struct hit){ "clCreateKernel", .tid = 1, .value = { PROGRAM, 0x123, 0 },
				      .text = "no_such" }); /* failed */
	runtime_finish(&t);
	assert_int_equal(runtime_count(&t, RECORD_KERNEL), 3);
	uint32_t tiled = runtime_record(&t, RECORD_KERNEL, 1)->kernel.id;
	uint32_t other = runtime_record(&t, RECORD_KERNEL, 2)->kernel.id;
	assert_int_equal(runtime_record(&t, RECORD_LAUNCH, 0)->launch.kernel, tiled);
	assert_int_equal(runtime_record(&t, RECORD_LAUNCH, 1)->launch.kernel, tiled);
	assert_int_equal(runtime_record(&t, RECORD_LAUNCH, 2)->launch.kernel, other);
	runtime_close(&t);
}

/* The struct behind a kernel's handle: word @word points to the name. */
static void put_kernel_struct(struct runtime *t, uint64_t kernel, uint64_t words[24], size_t word,
			      uint64_t name_address, const char *name)
{
	char *page = test_malloc(512);

	memset(page, 0, 512);
	strcpy(page, name);
	memset(words, 0, 24 * 8);
	words[2] = 0x20000; /* a lock; not readable */
	words[word] = name_address;
	runtime_memory(t, kernel, words, 24 * 8);
	runtime_memory(t, name_address, page, 512);
}

static void free_pages(struct runtime *t)
{
	for (size_t i = 1; i < t->regions; i += 2)
		test_free((void *)(uintptr_t)t->memory[i].data);
}

/* A kernel from before the recording: its name is read from the target. */
static void test_unknown_kernel(void **state)
{
	static struct runtime t;
	uint64_t words[4][24];

	(void)state;
	runtime_open(&t);
	put_kernel_struct(&t, 0x17000, words[0], 12, 0x8000, "late_one");  /* POCL 3.1's place */
	put_kernel_struct(&t, 0x17100, words[1], 15, 0x9000, "elsewhere"); /* another's */
	put_kernel_struct(&t, 0x17200, words[2], 12, 0xa000, "not a name");
	launch(&t, 1, QUEUE, 0x17000);
	launch(&t, 1, QUEUE, 0x17100);
	launch(&t, 1, QUEUE, 0x17200);
	launch(&t, 1, QUEUE, 0x17300); /* unreadable */
	runtime_finish(&t);
	assert_int_equal(runtime_count(&t, RECORD_KERNEL), 4);
	assert_string_equal(runtime_text(&t, runtime_record(&t, RECORD_KERNEL, 0)->kernel.name),
			    "late_one");
	assert_string_equal(runtime_text(&t, runtime_record(&t, RECORD_KERNEL, 1)->kernel.name),
			    "elsewhere");
	assert_int_equal(runtime_record(&t, RECORD_KERNEL, 2)->kernel.name, 0);
	assert_int_equal(runtime_record(&t, RECORD_KERNEL, 3)->kernel.name, 0);
	assert_string_equal(runtime_info(&t, "opencl.unnamed-kernels"), "2");
	free_pages(&t);
	runtime_close(&t);
}

/* Where a known name shows the word, another word that looks like a name is not taken for it. */
static void test_learnt_name_word(void **state)
{
	static struct runtime t;
	uint64_t words[2][24];

	(void)state;
	runtime_open(&t);
	put_kernel_struct(&t, 0x17000, words[0], 9, 0x8000, "known");
	put_kernel_struct(&t, 0x17100, words[1], 12, 0x9000, "context");
	create_kernel(&t, 0x17000, "known");
	launch(&t, 1, QUEUE, 0x17100);
	runtime_finish(&t);
	assert_int_equal(runtime_record(&t, RECORD_KERNEL, 1)->kernel.name, 0);
	free_pages(&t);
	runtime_close(&t);
}

/* Six characters that are also a readable pointer are no name. */
static void test_pointer_is_no_name(void **state)
{
	static struct runtime t;
	uint64_t words[24];

	(void)state;
	runtime_open(&t);
	put_kernel_struct(&t, 0x17000, words, 3, 0x8000, "PAAUUU");
	runtime_memory(&t, 0x555555414150, words, 64);
	launch(&t, 1, QUEUE, 0x17000);
	runtime_finish(&t);
	assert_int_equal(runtime_record(&t, RECORD_KERNEL, 0)->kernel.name, 0);
	test_free((void *)(uintptr_t)t.memory[1].data);
	runtime_close(&t);
}

/* clCreateKernelsInProgram fills an array that may have places to spare. */
static void test_kernels_in_program(void **state)
{
	static struct runtime t;
	uint64_t words[2][24];
	const uint64_t handles[] = { 0x17000, 0x17100, 0xdeadbeef, 0 };

	(void)state;
	runtime_open(&t);
	put_kernel_struct(&t, 0x17000, words[0], 12, 0x8000, "first");
	put_kernel_struct(&t, 0x17100, words[1], 12, 0x9000, "second");
	runtime_hit(&t,
		    (struct hit){ "clCreateKernelsInProgram", .tid = 1,
				  .value = { PROGRAM, 4, 0x1234, 0 }, .text = (const char *)handles,
				  .text_size = sizeof(handles) });
	launch(&t, 1, QUEUE, 0x17100);
	runtime_finish(&t);
	assert_int_equal(runtime_count(&t, RECORD_KERNEL), 2);
	assert_string_equal(runtime_text(&t, runtime_record(&t, RECORD_KERNEL, 1)->kernel.name),
			    "second");
	assert_int_equal(runtime_record(&t, RECORD_LAUNCH, 0)->launch.kernel,
			 runtime_record(&t, RECORD_KERNEL, 1)->kernel.id);
	free_pages(&t);
	runtime_close(&t);
}

/* A name that the program itself asks for. */
static void test_kernel_info(void **state)
{
	static struct runtime t;

	(void)state;
	runtime_open(&t);
	runtime_hit(&t, (struct hit){ "clGetKernelInfo", .tid = 1,
				      .value = { KERNEL, 0x1191, 8, 0x1234, 0 },
				      .text = "\3" }); /* the number of arguments */
	runtime_hit(&t,
		    (struct hit){ "clGetKernelInfo", .tid = 1,
				  .value = { KERNEL, 0x1190, 64, 0x1234, 0 }, .text = "asked" });
	launch(&t, 1, QUEUE, KERNEL);
	runtime_finish(&t);
	assert_int_equal(runtime_count(&t, RECORD_KERNEL), 1);
	assert_string_equal(runtime_text(&t, runtime_record(&t, RECORD_KERNEL, 0)->kernel.name),
			    "asked");
	runtime_close(&t);
}

static void test_program_source(void **state)
{
	static struct runtime t;
	const char *source = "kernel void k() {}";

	(void)state;
	runtime_open(&t);
	runtime_hit(&t, (struct hit){ "clCreateProgramWithSource", .tid = 1,
				      .value = { 1, 0x1, 0x2, PROGRAM }, .text = source });
	create_kernel(&t, KERNEL, "k");
	runtime_finish(&t);
	/* The reader's bytes live until the next record only: compare what stays. */
	const struct record *object = runtime_record(&t, RECORD_CODE_OBJECT, 0);
	assert_int_equal(object->code_object.kind, CODE_OBJECT_SOURCE);
	assert_int_equal(object->code_object.total_bytes, strlen(source));
	assert_int_equal(runtime_record(&t, RECORD_KERNEL, 0)->kernel.code_object,
			 object->code_object.id);
	runtime_close(&t);
}

/* A recording that starts in the middle: commands from before it do not get launches from within.
 * Of one that was running already nothing can be told. */
static void test_attached_late(void **state)
{
	static struct runtime t;
	uint64_t end;

	(void)state;
	runtime_open(&t);
	launch(&t, 1, QUEUE, KERNEL); /* behind what is under way */
	running(&t, 50, 0xe000);
	complete(&t, 50, 0xe000);
	submitted(&t, 50, 0xe100, QUEUE, 0);
	running(&t, 50, 0xe100);
	complete(&t, 50, 0xe100);
	launch(&t, 1, QUEUE, KERNEL); /* certain */
	submitted(&t, 1, 0xe000, QUEUE, KERNEL);
	running(&t, 50, 0xe000);
	end = complete(&t, 50, 0xe000);
	runtime_finish(&t);
	assert_int_equal(runtime_count(&t, RECORD_LAUNCH), 3);
	assert_int_equal(runtime_record(&t, RECORD_LAUNCH, 1)->launch.flags, LAUNCH_BEFORE_WINDOW);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 1)->dispatch.correlation,
			 runtime_record(&t, RECORD_LAUNCH, 2)->launch.correlation);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 1)->dispatch.end_ns, end);
	assert_string_equal(runtime_info(&t, "opencl.launched-before"), "1");
	runtime_close(&t);
}

/* Later POCL versions have one word more in front of the queue. */
static void test_other_layout(void **state)
{
	static struct runtime t;
	struct hit step = {
		.tid = 1,
		.value = { 0xe000, 0, 0xc0ffee, QUEUE, NDRANGE, 0xabc, 0, 0, 0x5eed, 0, 0, 0,
			   KERNEL_2, 4, 1, 1 },
	};

	(void)state;
	setup_two_kernels(&t);
	launch(&t, 2, QUEUE, KERNEL);
	launch(&t, 1, QUEUE, KERNEL_2);
	step.symbol = "pocl_update_event_submitted";
	step.tid = 50;
	runtime_hit(&t, step);
	step.symbol = "pocl_update_event_running";
	runtime_hit(&t, step);
	complete(&t, 50, 0xe000);
	runtime_finish(&t);
	assert_int_equal(runtime_record(&t, RECORD_DISPATCH, 0)->dispatch.correlation, 2);
	runtime_close(&t);
}

/* A runtime that is not POCL: launches only, and the capture says why. */
static void test_other_runtime(void **state)
{
	static struct runtime t;

	(void)state;
	setup_two_kernels(&t);
	for (size_t i = 0; i < 3000; i++)
		launch(&t, 1, QUEUE, KERNEL);
	runtime_finish(&t);
	assert_int_equal(runtime_count(&t, RECORD_LAUNCH), 3000);
	assert_non_null(strstr(runtime_info(&t, "missing.device-time"), "3000 of 3000"));
	assert_string_equal(runtime_info(&t, "opencl.given-up"), "");
	runtime_close(&t);
}

/* A program, or an attacker, that makes new handles without end does not fill our memory. */
static void test_limits(void **state)
{
	static struct runtime t;
	const uint64_t count = KERNEL_TABLE_MAX + 4000;

	(void)state;
	runtime_open(&t);
	t.records_wanted = 0;
	for (uint64_t i = 1; i <= count; i++) {
		runtime_hit(&t, (struct hit){ "clEnqueueNDRangeKernel", .tid = (uint32_t)i,
					      .value = { 0x100000 + i, 0x900000 + i, 1, 1 } });
		if (i % 8 == 0)
			create_kernel(&t, 0x5000000 + i, "k");
	}
	runtime_finish(&t);
	assert_int_equal(t.seen[RECORD_LAUNCH], count);
	/* One more, for all that are too many. */
	assert_int_equal(t.seen[RECORD_QUEUE], 4096 + 1);
	assert_true(t.seen[RECORD_KERNEL] <= KERNEL_TABLE_MAX);
	runtime_close(&t);
}

/* Handles of one process mean nothing in another; one that is gone takes nothing with it. */
static void test_processes(void **state)
{
	static struct runtime t;

	(void)state;
	setup_two_kernels(&t);
	runtime_hit(&t, (struct hit){ "clEnqueueNDRangeKernel", .process = 2, .tid = 9,
				      .value = { QUEUE, KERNEL, 1, 64, 0, 0, 16 } });
	launch(&t, 1, QUEUE, KERNEL);
	assert_int_equal(accel_exited(t.accel, 1, t.now), 0);
	assert_int_equal(accel_exited(t.accel, 1, t.now), 0);
	runtime_hit(&t, (struct hit){ "clEnqueueNDRangeKernel", .process = 2, .tid = 9,
				      .value = { QUEUE, KERNEL, 1, 64, 0, 0, 16 } });
	runtime_finish(&t);
	assert_int_equal(runtime_count(&t, RECORD_LAUNCH), 3);
	const struct record *other = runtime_record(&t, RECORD_LAUNCH, 0);
	const struct record *own = runtime_record(&t, RECORD_LAUNCH, 1);
	const struct record *again = runtime_record(&t, RECORD_LAUNCH, 2);
	assert_int_not_equal(other->launch.kernel, own->launch.kernel);
	assert_int_not_equal(other->launch.queue, own->launch.queue);
	assert_int_equal(other->launch.kernel, again->launch.kernel);
	runtime_close(&t);
}

/* On a queue that is known from its beginning a command without a launch is one whose launch was
 * lost, not one from before the recording. */
static void test_lost_launch(void **state)
{
	static struct runtime t;

	(void)state;
	setup_two_kernels(&t);
	submitted(&t, 50, 0xe000, QUEUE, KERNEL);
	running(&t, 50, 0xe000);
	complete(&t, 50, 0xe000);
	runtime_finish(&t);
	assert_int_equal(runtime_count(&t, RECORD_LAUNCH), 1);
	assert_int_equal(runtime_record(&t, RECORD_LAUNCH, 0)->launch.flags, 0);
	assert_int_equal(runtime_record(&t, RECORD_LAUNCH, 0)->launch.stack, 0);
	assert_int_equal(runtime_count(&t, RECORD_DISPATCH), 1);
	assert_string_equal(runtime_info(&t, "opencl.launch-unseen"), "1");
	runtime_close(&t);
}

static void tell_thread(struct runtime *t, uint32_t tid, uint32_t number)
{
	const struct inject_thread thread = { .header = { INJECT_THREAD, 0, sizeof(thread) },
					      .number = number };

	runtime_tell(t, INJECT_OPENCL_BATCH, tid, &thread, sizeof(thread));
}

static void tell_time(struct runtime *t, uint64_t queue, uint32_t thread, uint64_t call,
		      uint64_t start)
{
	const struct inject_time time = { .header = { INJECT_TIME, 0, sizeof(time) },
					  .handle = queue,
					  .call_ns = call,
					  .thread = thread,
					  .kind = INJECT_LAUNCH_FILL,
					  .start_ns = start,
					  .end_ns = start + 5 };

	runtime_tell(t, INJECT_OPENCL_BATCH, 77, &time, sizeof(time));
}

/* When the device worked, by the library inside: of a launch by its thread and the end of its call. */
static void test_told_times(void **state)
{
	static struct runtime t;
	uint64_t call[5];

	(void)state;
	runtime_open_for(&t, "opencl:times");
	create_queue(&t, QUEUE, 0);
	create_kernel(&t, KERNEL, "one");
	tell_thread(&t, 11, 1);
	tell_thread(&t, 12, 2);
	for (size_t i = 0; i < 5; i++)
		call[i] = launch(&t, i % 2 ? 12 : 11, QUEUE, KERNEL);
	/* POCL's own events say no more. */
	submitted(&t, 11, 0xe1, QUEUE, KERNEL);
	complete(&t, 11, 0xe1);
	tell_time(&t, QUEUE, 2, call[3] + 5, 400); /* not in order */
	tell_time(&t, QUEUE, 1, call[0] + 5, 100);
	tell_time(&t, QUEUE, 1, call[2] + 15, 300); /* ends after the next of the other began */
	tell_time(&t, QUEUE, 2, call[2] + 5, 200);
	tell_time(&t, QUEUE, 2, call[2] + 5, 600);   /* the same again: that one was lost */
	tell_time(&t, QUEUE, 3, call[4] + 5, 700);   /* of no thread */
	tell_time(&t, QUEUE_2, 1, call[4] + 5, 800); /* of a queue from before */
	runtime_finish(&t);

	assert_int_equal(runtime_count(&t, RECORD_DISPATCH), 4);
	static const struct {
		size_t launch;
		uint64_t start;
	} expected[] = { { 3, 400 }, { 0, 100 }, { 2, 300 }, { 1, 200 } };
	for (size_t i = 0; i < 4; i++) {
		const struct record_dispatch *d = dispatch_record(&t, i);
		assert_int_equal(d->correlation,
				 launch_record(&t, expected[i].launch)->correlation);
		assert_int_equal(d->kernel, launch_record(&t, 0)->kernel);
		assert_int_equal(d->start_ns, expected[i].start);
	}
	/* Fills of which nobody knows who asked for them. */
	assert_int_equal(runtime_count(&t, RECORD_COPY), 3);
	assert_int_equal(runtime_count(&t, RECORD_LAUNCH), 5 + 3);
	assert_int_equal(launch_record(&t, 5)->flags, 0);
	assert_int_equal(launch_record(&t, 7)->flags, LAUNCH_BEFORE_WINDOW);
	assert_int_equal(runtime_record(&t, RECORD_COPY, 2)->copy.kind, LAUNCH_FILL);
	assert_string_equal(runtime_info(&t, "opencl.timed"), "4");
	assert_string_equal(runtime_info(&t, "opencl.launch-unseen"), "2");
	assert_non_null(strstr(runtime_info(&t, "missing.device-time"), "1 of 5"));
	runtime_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_launch),
		cmocka_unit_test(test_done_before_the_call_returns),
		cmocka_unit_test(test_event_reuse),
		cmocka_unit_test(test_submitted_by_a_worker),
		cmocka_unit_test(test_threads_and_queues),
		cmocka_unit_test(test_threads_race_for_a_queue),
		cmocka_unit_test(test_failed_launch),
		cmocka_unit_test(test_impossible_launch),
		cmocka_unit_test(test_race_with_one_kernel),
		cmocka_unit_test(test_groups_are_elsewhere),
		cmocka_unit_test(test_user_event),
		cmocka_unit_test(test_other_commands),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_finish),
		cmocka_unit_test(test_wait_for_events),
		cmocka_unit_test(test_grid),
		cmocka_unit_test(test_kernel_identity),
		cmocka_unit_test(test_unknown_kernel),
		cmocka_unit_test(test_learnt_name_word),
		cmocka_unit_test(test_pointer_is_no_name),
		cmocka_unit_test(test_kernels_in_program),
		cmocka_unit_test(test_kernel_info),
		cmocka_unit_test(test_program_source),
		cmocka_unit_test(test_attached_late),
		cmocka_unit_test(test_lost_launch),
		cmocka_unit_test(test_other_layout),
		cmocka_unit_test(test_other_runtime),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_told_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
