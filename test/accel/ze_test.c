/* SPDX-License-Identifier: Apache-2.0 */
/* Level Zero calls as the probes see them, and the records that must come of them. Handles are made up. */
#include "runtime.h"

#include "accel/ze.h"
#include "inject/message.h"

#include <elf.h>

#define DEVICE 0x1000
#define QUEUE  0x2000
#define LIST   0x3000
#define MODULE 0x6000
#define KERNEL 0x7000

#define APPEND "zeCommandListAppendLaunchKernel"

static void make_device(struct runtime *t)
{
	unsigned char properties[368] = { 0 }, pci[32] = { 0 };
	const uint32_t vendor = 0x8086, address[4] = { 0, 3, 2, 0 };

	memcpy(properties + 20, &vendor, sizeof(vendor));
	memcpy(properties + 112, "Big GPU", 8);
	memcpy(pci + 16, address, sizeof(address));
	runtime_hit(t,
		    (struct hit){ "zeDeviceGetProperties", .tid = 1, .value = { DEVICE, 0x10, 0 },
				  .text = (char *)properties, .text_size = sizeof(properties) });
	runtime_hit(t, (struct hit){ "zeDevicePciGetPropertiesExt", .tid = 1,
				     .value = { DEVICE, 0x10, 0 }, .text = (char *)pci,
				     .text_size = sizeof(pci) });
	runtime_hit(t, (struct hit){ "zeCommandQueueCreate", .tid = 1,
				     .value = { DEVICE, 0x10, QUEUE, 0 } });
}

static void make_list(struct runtime *t, const char *symbol, uint64_t handle)
{
	runtime_hit(t, (struct hit){ symbol, .tid = 1, .value = { DEVICE, 0x10, handle, 0 } });
}

static void make_kernel(struct runtime *t, uint64_t module, uint64_t handle, const char *name)
{
	runtime_hit(t, (struct hit){ "zeKernelCreate", .tid = 1,
				     .value = { module, 0x20, 0x30, handle, 0 }, .text = name });
}

static uint64_t append(struct runtime *t, uint64_t list, uint64_t kernel)
{
	return runtime_hit(
		t, (struct hit){ APPEND, .tid = 1, .value = { list, kernel, 2 | 3ull << 32, 4 } });
}

static uint64_t execute(struct runtime *t, uint64_t list)
{
	return runtime_hit(t, (struct hit){ "zeCommandQueueExecuteCommandLists", .tid = 2,
					    .value = { QUEUE, 1, 0x40, list } });
}

static void test_calls(void **state)
{
	const uint64_t many[9] = { KERNEL, KERNEL, KERNEL, KERNEL,    KERNEL,
				   KERNEL, KERNEL, KERNEL, KERNEL + 1 };
	static struct runtime t;

	(void)state;
	runtime_open(&t);
	runtime_memory(&t, 0x40, many, sizeof(many));
	make_device(&t);
	make_list(&t, "zeCommandListCreateImmediate", LIST);
	make_kernel(&t, MODULE, KERNEL, "one");
	make_kernel(&t, MODULE, KERNEL + 1, "two");
	uint64_t time = append(&t, LIST, KERNEL);
	/* Sizes by value: x and y in one register, z in the next. */
	runtime_hit(&t, (struct hit){ "zeCommandListAppendLaunchKernelWithArguments", .tid = 1,
				      .value = { LIST, KERNEL + 1, 5 | 6ull << 32, 7,
						 8 | 9ull << 32, 10 } });
	runtime_hit(&t, (struct hit){ "zeCommandListAppendLaunchKernelIndirect", .tid = 1,
				      .value = { LIST, KERNEL } });
	runtime_hit(&t, (struct hit){ "zeCommandListAppendLaunchMultipleKernelsIndirect", .tid = 1,
				      .value = { LIST, 2, 0x50, KERNEL, KERNEL + 1, 0x1234 } });
	/* More than a hit takes along: all of them from memory. */
	runtime_hit(&t, (struct hit){ "zeCommandListAppendLaunchMultipleKernelsIndirect", .tid = 1,
				      .value = { LIST, 9, 0x40 } });
	runtime_hit(&t, (struct hit){ "zeCommandListAppendMemoryCopy", .tid = 1,
				      .value = { LIST, 4096 } });
	runtime_hit(&t, (struct hit){ "zeCommandListAppendMemoryFill", .tid = 1,
				      .value = { LIST, 512 } });
	runtime_hit(&t,
		    (struct hit){ "zeCommandListAppendImageCopy", .tid = 1, .value = { LIST } });
	append(&t, LIST, 0x9999); /* made before the recording */
	runtime_finish(&t);

	assert_int_equal(runtime_count(&t, RECORD_LAUNCH), 3 + 2 + 9 + 3 + 1);
	const struct record_launch *r = launch_record(&t, 0);
	assert_int_equal(r->time_ns, time);
	assert_int_equal(r->grid[0] * 100 + r->grid[1] * 10 + r->grid[2], 234);
	assert_int_equal(r->block[0], 0);
	assert_string_equal(launched(&t, 0), "one");
	r = launch_record(&t, 1);
	assert_int_equal(r->grid[0] * 100 + r->grid[1] * 10 + r->grid[2], 567);
	assert_int_equal(r->block[0] * 1000 + r->block[1] * 100 + r->block[2], 8910);
	assert_string_equal(launched(&t, 1), "two");
	assert_int_equal(launch_record(&t, 2)->grid[0], 0);
	assert_string_equal(launched(&t, 3), "one");
	assert_string_equal(launched(&t, 4), "two");
	assert_string_equal(launched(&t, 12), "one");
	assert_string_equal(launched(&t, 13), "two");
	r = launch_record(&t, 14);
	assert_int_equal(r->kind, LAUNCH_COPY);
	assert_int_equal(r->bytes, 4096);
	assert_string_equal(runtime_text(&t, r->name), "Memory Copy");
	assert_int_equal(launch_record(&t, 15)->kind, LAUNCH_FILL);
	assert_int_equal(launch_record(&t, 15)->bytes, 512);
	assert_string_equal(launched(&t, 17), "");
	const struct record_device *device = &runtime_record(&t, RECORD_DEVICE, 0)->device;
	assert_string_equal(runtime_text(&t, device->name), "Big GPU");
	assert_string_equal(runtime_text(&t, device->vendor), "Intel");
	assert_int_equal(runtime_count(&t, RECORD_DEVICE), 1);
	assert_int_equal(launch_record(&t, 0)->queue,
			 runtime_record(&t, RECORD_QUEUE, 1)->queue.id);
	assert_string_equal(runtime_info(&t, "levelzero.unnamed-kernels"), "1");
	runtime_close(&t);
}

/* What was appended is launched by who appended it, and again by who executes the list again. */
static void test_lists(void **state)
{
	static struct runtime t;

	(void)state;
	runtime_open(&t);
	make_device(&t);
	make_list(&t, "zeCommandListCreate", LIST);
	make_kernel(&t, MODULE, KERNEL, "one");
	make_kernel(&t, MODULE, KERNEL + 1, "two");
	append(&t, LIST, KERNEL);
	append(&t, LIST, KERNEL + 1);
	append(&t, LIST, KERNEL);
	execute(&t, LIST);
	uint64_t again = execute(&t, LIST); /* 2 x one, 1 x two */
	runtime_hit(&t, (struct hit){ "zeCommandListReset", .tid = 1, .value = { LIST } });
	append(&t, LIST, KERNEL + 1);
	execute(&t, LIST);
	/* By an immediate list, and one that is not known, such as what was destroyed. */
	runtime_hit(&t, (struct hit){ "zeCommandListImmediateAppendCommandListsExp", .tid = 2,
				      .value = { LIST + 8, 2, 0x40, LIST, 0x9999 } });
	runtime_hit(&t, (struct hit){ "zeCommandListDestroy", .tid = 1, .value = { LIST } });
	execute(&t, LIST);
	runtime_finish(&t);

	assert_int_equal(runtime_count(&t, RECORD_LAUNCH), 3 + 2 + 1 + 1);
	assert_int_equal(launch_record(&t, 2)->flags, 0);
	const struct record_launch *r = launch_record(&t, 3);
	assert_int_equal(r->time_ns, again);
	assert_int_equal(r->thread, 1002);
	assert_int_equal(r->flags, LAUNCH_REPLAY);
	assert_int_equal(r->count, 2);
	assert_string_equal(launched(&t, 3), "one");
	assert_int_equal(launch_record(&t, 4)->count, 0);
	assert_string_equal(launched(&t, 4), "two");
	assert_int_equal(launch_record(&t, 5)->flags, 0);
	assert_int_equal(launch_record(&t, 6)->flags, LAUNCH_REPLAY);
	assert_string_equal(launched(&t, 6), "two");
	assert_string_equal(runtime_info(&t, "levelzero.launches"), "8");
	assert_string_equal(runtime_info(&t, "levelzero.replayed"), "4");
	/* Its queue is known once it was executed. */
	assert_int_equal(launch_record(&t, 5)->queue,
			 runtime_record(&t, RECORD_QUEUE, 0)->queue.id);
	assert_int_equal(runtime_record(&t, RECORD_QUEUE, 1)->queue.handle, 0);
	runtime_close(&t);
}

/* Of as many records as there are here only the number is of interest. */
static void open_counted(struct runtime *t, const char *create)
{
	runtime_open(t);
	t->records_wanted = 0;
	make_device(t);
	make_list(t, create, LIST);
	make_kernel(t, MODULE, KERNEL, "one");
}

/* One call that executes large lists again and again is not told of without end. */
static void test_replays_without_end(void **state)
{
	enum {
		WORK = ZE_WORK_MAX,
		LISTS = 8
	};
	static struct runtime t;
	uint64_t lists[LISTS + 1];

	(void)state;
	open_counted(&t, "zeCommandListCreate");
	for (uint64_t i = 0; i < WORK; i++)
		runtime_hit(&t, (struct hit){ APPEND, .tid = 1,
					      .value = { LIST, KERNEL, i << 32 | 1, 1 } });
	execute(&t, LIST);
	for (int i = 0; i <= LISTS; i++)
		lists[i] = LIST;
	runtime_memory(&t, 0x40, lists, sizeof(lists));
	runtime_hit(&t, (struct hit){ "zeCommandQueueExecuteCommandLists", .tid = 2,
				      .value = { QUEUE, LISTS + 1, 0x40 } });
	t.now += 1000000000;
	execute(&t, LIST);
	runtime_finish(&t);
	assert_int_equal(LISTS * WORK, ZE_LAUNCHES_PER_SECOND);
	assert_int_equal(t.seen[RECORD_LAUNCH], WORK + LISTS * WORK + WORK);
	runtime_close(&t);
}

/* Nor is one that appends as many as an array holds. */
static void test_appends_without_end(void **state)
{
	enum {
		CALLS = ZE_LAUNCHES_PER_SECOND / ZE_ARRAY_MAX
	};
	static uint64_t kernels[ZE_ARRAY_MAX];
	static struct runtime t;

	(void)state;
	open_counted(&t, "zeCommandListCreateImmediate");
	for (int i = 0; i < ZE_ARRAY_MAX; i++)
		kernels[i] = KERNEL;
	runtime_memory(&t, 0x40, kernels, sizeof(kernels));
	for (int i = 0; i <= CALLS; i++)
		runtime_hit(&t, (struct hit){ "zeCommandListAppendLaunchMultipleKernelsIndirect",
					      .tid = 1, .value = { LIST, ZE_ARRAY_MAX, 0x40 } });
	runtime_finish(&t);
	assert_int_equal(t.seen[RECORD_LAUNCH], CALLS * ZE_ARRAY_MAX);
	runtime_close(&t);
}

/* Failed calls leave nothing; a handle that is given out again is something else. */
static void test_failed_and_destroyed(void **state)
{
	static struct runtime t;

	(void)state;
	runtime_open(&t);
	make_list(&t, "zeCommandListCreateImmediate", LIST);
	runtime_hit(&t, (struct hit){ "zeKernelCreate", .tid = 1, .text = "none",
				      .value = { MODULE, 0x20, 0x30, KERNEL, 0x78000011 } });
	make_kernel(&t, MODULE, KERNEL, "same");
	append(&t, LIST, KERNEL);
	make_kernel(&t, MODULE, KERNEL + 1, "same");
	append(&t, LIST, KERNEL + 1);
	runtime_hit(&t, (struct hit){ "zeModuleDestroy", .tid = 1, .value = { MODULE } });
	make_kernel(&t, MODULE, KERNEL, "same");
	append(&t, LIST, KERNEL);
	runtime_finish(&t);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(launched(&t, i), "same");
	assert_int_equal(launch_record(&t, 0)->kernel, launch_record(&t, 1)->kernel);
	assert_int_not_equal(launch_record(&t, 0)->kernel, launch_record(&t, 2)->kernel);
	runtime_close(&t);
}

static void test_waits(void **state)
{
	static struct runtime t;

	(void)state;
	runtime_open(&t);
	make_device(&t);
	uint64_t begin = t.now + 10;
	/* One site begins a wait and another ends it; both have the name of the call. */
	for (size_t i = 0; i < accel_site_count(t.accel); i++) {
		const struct probe_site *site = accel_site(t.accel, i);
		struct accel_event event = { .time_ns = t.now += 10,
					     .pid = 101,
					     .tid = 1,
					     .process = 1,
					     .thread = 1001,
					     .site = site,
					     .text = "",
					     .value = { QUEUE } };
		if (strcmp(site->symbol, "zeCommandQueueSynchronize") != 0) {
			t.now -= 10;
			continue;
		}
		if (site->flags & PROBE_AT_RETURN)
			event.time_ns = t.now += 100;
		assert_int_equal(accel_event(t.accel, &event), 0);
	}
	runtime_finish(&t);
	assert_int_equal(runtime_count(&t, RECORD_SYNC), 1);
	const struct record_sync *r = &runtime_record(&t, RECORD_SYNC, 0)->sync;
	assert_int_equal(r->time_ns, begin);
	assert_int_equal(r->duration_ns, 110);
	assert_int_equal(r->queue, runtime_record(&t, RECORD_QUEUE, 0)->queue.id);
	runtime_close(&t);
}

/* A driver's file of one module: two kernels at their places, and what is no code. */
struct image {
	Elf64_Ehdr header;
	char names[24];
	Elf64_Shdr sections[4];
};

static const struct image two_kernels = {
	.header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		    .e_type = ET_EXEC,
		    .e_machine = 205,
		    .e_version = EV_CURRENT,
		    .e_ehsize = sizeof(Elf64_Ehdr),
		    .e_shoff = offsetof(struct image, sections),
		    .e_shentsize = sizeof(Elf64_Shdr),
		    .e_shnum = 4,
		    .e_shstrndx = 3 },
	.names = "\0.text.one\0.text.two",
	.sections = { { 0 },
		      { .sh_name = 1,
			.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_EXECINSTR,
			.sh_addr = 0x8000fffe0000,
			.sh_size = 0x380 },
		      { .sh_name = 11,
			.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_EXECINSTR,
			.sh_addr = 0x8000fffd0000,
			.sh_size = 0x340 },
		      { .sh_name = 21,
			.sh_type = SHT_STRTAB,
			.sh_offset = offsetof(struct image, names),
			.sh_size = 24 } },
};

struct told {
	struct inject_header here;
	struct {
		struct inject_name message;
		char text[8];
	} name;
	struct {
		struct inject_code message;
		struct image image;
	} code;
	struct inject_kernel one, unknown, nowhere;
};

static void make_told(struct told *told)
{
	*told = (struct told){
		.here = { INJECT_HERE, 0, sizeof(told->here) },
		.name = { { { INJECT_NAME, 0, sizeof(told->name) - 5 }, 1, 3 }, "one" },
		.code = { { { INJECT_CODE, 0, sizeof(told->code) },
			    MODULE,
			    sizeof(struct image),
			    0 },
			  two_kernels },
		.one = { .header = { INJECT_KERNEL, 0, sizeof(told->one) },
			 .handle = KERNEL,
			 .module = MODULE,
			 .device = DEVICE,
			 .address = 0x8000fffe0000,
			 .name = 1,
			 .pci = 0x310 },
		/* Made before: no module, and a size that nobody tells. */
		.unknown = { .header = { INJECT_KERNEL, 0, sizeof(told->one) },
			     .handle = KERNEL + 1,
			     .address = 0x8000fff01000,
			     .name = 1 },
		.nowhere = { .header = { INJECT_KERNEL, 0, sizeof(told->one) },
			     .handle = KERNEL + 2,
			     .name = 1 },
	};
}

static const struct record_kernel *kernel_record(const struct runtime *t, size_t index)
{
	return &runtime_record(t, RECORD_KERNEL, index)->kernel;
}

/* What the library inside tells of a module and its kernels. */
static void test_told(void **state)
{
	static struct runtime t;
	struct told told;

	(void)state;
	make_told(&told);
	runtime_open(&t);
	make_device(&t);
	make_list(&t, "zeCommandListCreateImmediate", LIST);
	for (int times = 0; times < 3; times++) {
		told.code.image.header.e_flags = times == 2;
		runtime_hit(&t,
			    (struct hit){ INJECT_ZE_BATCH, .tid = 1,
					  .value = { 0x9000, sizeof(told) },
					  .text = (const char *)&told, .text_size = sizeof(told) });
	}
	/* It knows better than what is seen from outside. */
	make_kernel(&t, MODULE, KERNEL, "other");
	append(&t, LIST, KERNEL);
	append(&t, LIST, KERNEL + 1);
	append(&t, LIST, KERNEL + 2);
	runtime_finish(&t);

	/* The second time nothing is new. The third time the file is another, so that its kernel is, and the others
	 * are the same. */
	assert_int_equal(runtime_count(&t, RECORD_CODE_OBJECT), 2);
	assert_int_equal(runtime_count(&t, RECORD_KERNEL), 4);
	const struct record_kernel *k = kernel_record(&t, 0);
	assert_string_equal(runtime_text(&t, k->name), "one");
	assert_int_equal(k->size, 0x380);
	assert_string_equal(runtime_text(&t, k->metadata), "address=0x8000fffe0000");
	assert_int_equal(k->code_object, runtime_record(&t, RECORD_CODE_OBJECT, 0)->code_object.id);
	k = kernel_record(&t, 1);
	assert_int_equal(k->size, 0x10000 - 0x1000);
	assert_int_equal(k->code_object, 0);
	assert_int_equal(kernel_record(&t, 2)->metadata, 0);
	const struct record_code_object *code =
		&runtime_record(&t, RECORD_CODE_OBJECT, 1)->code_object;
	assert_int_equal(code->kind, CODE_OBJECT_ZEBIN);
	assert_int_equal(code->total_bytes, sizeof(struct image));
	assert_int_equal(kernel_record(&t, 3)->code_object, code->id);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(launched(&t, i), "one");
	assert_int_equal(launch_record(&t, 0)->kernel, kernel_record(&t, 3)->id);
	assert_string_equal(runtime_info(&t, "levelzero.located-kernels"), "6");
	runtime_close(&t);
}

static void tell_time(struct runtime *t, uint64_t event, uint64_t start)
{
	const struct inject_time time = { .header = { INJECT_TIME, 0, sizeof(time) },
					  .handle = event,
					  .kind = INJECT_LAUNCH_KERNEL,
					  .start_ns = start,
					  .end_ns = start + 5 };

	runtime_tell(t, INJECT_ZE_BATCH, 9, &time, sizeof(time));
}

static void append_with(struct runtime *t, uint64_t list, uint64_t kernel, uint64_t event)
{
	runtime_hit(t, (struct hit){ APPEND, .tid = 1,
				     .value = { list, kernel, 2 | 3ull << 32, 4, event } });
}

/* When the device worked, by the event that was signalled. */
static void test_times(void **state)
{
	static struct runtime t;
	struct inject_time backwards = { .header = { INJECT_TIME, 0, sizeof(backwards) },
					 .handle = 0xe1,
					 .start_ns = 9,
					 .end_ns = 8 };
	struct inject_dropped dropped = { .header = { INJECT_DROPPED, 0, sizeof(dropped) },
					  .count = 7 };

	(void)state;
	runtime_open_for(&t, "levelzero:times");
	make_device(&t);
	make_list(&t, "zeCommandListCreateImmediate", LIST);
	make_list(&t, "zeCommandListCreate", LIST + 8);
	make_kernel(&t, MODULE, KERNEL, "one");
	make_kernel(&t, MODULE, KERNEL + 1, "two");
	append_with(&t, LIST, KERNEL, 0xe1);
	append_with(&t, LIST, KERNEL + 1, 0xe2);
	tell_time(&t, 0xe2, 100); /* not in the order they were asked for */
	tell_time(&t, 0xe1, 50);
	append_with(&t, LIST, KERNEL + 1, 0xe1); /* again */
	tell_time(&t, 0xe1, 200);
	append_with(&t, LIST + 8, KERNEL, 0xe3);
	runtime_hit(&t, (struct hit){ "zeCommandListAppendMemoryCopy", .tid = 1,
				      .value = { LIST + 8, 4096, 0xe4 } });
	for (uint64_t i = 0; i < 2; i++) {
		execute(&t, LIST + 8);
		tell_time(&t, 0xe3, 300 + 100 * i);
		tell_time(&t, 0xe4, 350 + 100 * i);
	}
	tell_time(&t, 0xe5, 900); /* that nobody asked for */
	runtime_tell(&t, INJECT_ZE_BATCH, 9, &backwards, sizeof(backwards));
	runtime_tell(&t, INJECT_ZE_BATCH, 9, &backwards, sizeof(backwards) - 8);
	runtime_tell(&t, INJECT_ZE_BATCH, 9, &dropped, sizeof(dropped));
	assert_int_equal(accel_loss(t.accel, 0).count, 7);
	assert_int_equal(accel_loss(t.accel, 1).count, 0);
	runtime_finish(&t);

	assert_int_equal(runtime_count(&t, RECORD_DISPATCH), 5);
	/* Launches: one, two, two, one and a copy, and these again by who executed them. */
	static const struct {
		size_t launch;
		uint64_t start;
	} expected[] = { { 1, 100 }, { 0, 50 }, { 2, 200 }, { 3, 300 }, { 5, 400 } };
	for (size_t i = 0; i < 5; i++) {
		const struct record_dispatch *d = dispatch_record(&t, i);
		assert_int_equal(d->correlation,
				 launch_record(&t, expected[i].launch)->correlation);
		assert_int_equal(d->kernel, launch_record(&t, expected[i].launch)->kernel);
		assert_int_equal(d->start_ns, expected[i].start);
		assert_int_equal(d->end_ns, expected[i].start + 5);
	}
	assert_int_equal(dispatch_record(&t, 4)->queue,
			 runtime_record(&t, RECORD_QUEUE, 0)->queue.id);
	for (size_t i = 0; i < 2; i++) {
		const struct record_copy *c = &runtime_record(&t, RECORD_COPY, i)->copy;
		assert_int_equal(c->correlation, launch_record(&t, 4 + 2 * i)->correlation);
		assert_int_equal(c->bytes, 4096);
		assert_int_equal(c->start_ns, 350 + 100 * i);
	}
	assert_string_equal(runtime_info(&t, "levelzero.timed"), "7");
	assert_string_equal(runtime_info(&t, "levelzero.launched-before"), "1");
	assert_string_equal(runtime_info(&t, "missing.device-time"), "");
	runtime_close(&t);
}

/* Another recording goes on: what was told still holds, and of the same thing the last. */
static void test_inherited(void **state)
{
	static struct runtime t, next, last;
	struct told told;

	(void)state;
	make_told(&told);
	runtime_open(&t);
	make_device(&t);
	make_list(&t, "zeCommandListCreateImmediate", LIST);
	make_kernel(&t, MODULE + 1, KERNEL + 8, "old");
	make_kernel(&t, MODULE + 1, KERNEL + 8, "new");
	runtime_hit(&t, (struct hit){ INJECT_ZE_BATCH, .tid = 1, .value = { 0x9000, sizeof(told) },
				      .text = (const char *)&told, .text_size = sizeof(told) });
	runtime_hit(&t, (struct hit){ "zeKernelCreate", .process = 2, .tid = 2, .text = "second",
				      .value = { MODULE, 0x20, 0x30, KERNEL, 0 } });
	runtime_hit(&t, (struct hit){ "zeKernelCreate", .process = 3, .tid = 3, .text = "third",
				      .value = { MODULE, 0x20, 0x30, KERNEL, 0 } });
	append(&t, LIST, KERNEL);
	runtime_finish(&t);
	/* Through a file in which nothing happens. */
	runtime_open(&next);
	runtime_inherit(&next, &t);
	runtime_finish(&next);
	assert_int_equal(runtime_count(&next, RECORD_LAUNCH), 0);
	runtime_open(&last);
	runtime_inherit(&last, &t);
	for (int process = 41; process < 44; process++)
		runtime_hit(&last, (struct hit){ APPEND, .process = (uint32_t)process, .tid = 1,
						 .value = { LIST, KERNEL } });
	runtime_hit(&last,
		    (struct hit){ APPEND, .process = 41, .tid = 1, .value = { LIST, KERNEL + 8 } });
	runtime_finish(&last);

	assert_string_equal(launched(&last, 0), "one");
	assert_string_equal(launched(&last, 1), "second");
	assert_string_equal(launched(&last, 2), "");
	assert_string_equal(launched(&last, 3), "new");
	assert_int_equal(launch_record(&last, 0)->queue,
			 runtime_record(&last, RECORD_QUEUE, 1)->queue.id);
	const struct record_device *device = &runtime_record(&last, RECORD_DEVICE, 0)->device;
	assert_string_equal(runtime_text(&last, device->name), "Big GPU");
	const struct record_code_object *code =
		&runtime_record(&last, RECORD_CODE_OBJECT, 0)->code_object;
	assert_int_equal(code->process, 41);
	assert_int_equal(code->total_bytes, sizeof(struct image));
	assert_string_equal(runtime_info(&last, "levelzero.located-kernels"), "2");
	runtime_close(&t);
	runtime_close(&next);
	runtime_close(&last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_replays_without_end),
		cmocka_unit_test(test_appends_without_end),
		cmocka_unit_test(test_failed_and_destroyed),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_inherited),
		cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
