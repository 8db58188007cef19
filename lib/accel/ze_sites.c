/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is watched of Level Zero: the loader's library, for drivers export next to nothing (signatures: ze_api.h of 1.13
 * and before; structs by value are two registers).
 */
#include "accel/ze.h"

#include "accel/site_table.h"
#include "inject/message.h"

#define LOADER "libze_loader"

#define NAME_MAX_BYTES 16384
/* What programs bring along is mostly smaller; of what is larger nothing is kept. */
#define MODULE_MAX_BYTES (256u << 10)

/* Offsets in structs of ze_api.h. */
#define DESC_KERNEL_NAME   24 /* ze_kernel_desc_t.pKernelName */
#define DESC_MODULE_FORMAT 16 /* ze_module_desc_t.format, inputSize, pInputModule */
#define DESC_MODULE_SIZE   24
#define DESC_MODULE_BYTES  32
#define PCI_ADDRESS        16 /* ze_pci_ext_properties_t.address: domain, bus, device, function */

enum transfer {
	TRANSFER_COPY,
	TRANSFER_COPY_SHAPED,
	TRANSFER_FILL,
	TRANSFER_IMAGE,
	TRANSFER_PREFETCH,
	TRANSFER_KINDS
};

static const struct ze_transfer transfers[TRANSFER_KINDS] = {
	[TRANSFER_COPY] = { "Memory Copy", LAUNCH_COPY, true },
	[TRANSFER_COPY_SHAPED] = { "Memory Copy 2D/3D", LAUNCH_COPY, false },
	[TRANSFER_FILL] = { "Memory Fill", LAUNCH_FILL, true },
	[TRANSFER_IMAGE] = { "Image Copy", LAUNCH_COPY, false },
	[TRANSFER_PREFETCH] = { "Memory Prefetch", LAUNCH_COPY, true },
};

const struct ze_transfer *ze_transfer(const struct probe_site *site)
{
	unsigned int number = site->id - SITE_TRANSFERS;

	return number < TRANSFER_KINDS ? &transfers[number] : NULL;
}

/* A 32-bit word @at bytes behind where argument @arg points to. */
#define FIELD32(arg, at)                                                                         \
	{                                                                                        \
		.base = PROBE_ARGUMENT, .index = (arg), .derefs = 1, .offset = { at }, .size = 4 \
	}
#define FIELD(arg, at)                                                                \
	{                                                                             \
		.base = PROBE_ARGUMENT, .index = (arg), .derefs = 1, .offset = { at } \
	}
#define SITE(number, function, how, ...)                                 \
	{                                                                \
		.library = LOADER, .symbol = (function), .id = (number), \
		.flags = (how) | PROBE_OPTIONAL, .value = {              \
			__VA_ARGS__                                      \
		}                                                        \
	}
#define WORK(number, function, ...) SITE(number, function, PROBE_STACK, ARG(0), __VA_ARGS__)
#define TRANSFER(number, function, ...) \
	SITE(SITE_TRANSFERS + (number), function, PROBE_STACK, ARG(0), ##__VA_ARGS__)
/* What it tells of value @of holds until it is told otherwise. */
#define LASTING(number, function, how, of, ...)                                \
	{                                                                      \
		.library = LOADER, .symbol = (function), .id = (number),       \
		.flags = (how) | PROBE_OPTIONAL, .lasts = 1 + (of), .value = { \
			__VA_ARGS__                                            \
		}                                                              \
	}
#define MADE(number, function, ...)  LASTING(number, function, PROBE_AT_RETURN, 2, __VA_ARGS__)
#define AFTER(number, function, ...) SITE(number, function, PROBE_AT_RETURN, __VA_ARGS__)
/* A wait: its beginning with the stack, its end when it returns. */
#define WAIT(function) \
	SITE(SITE_SYNC, function, PROBE_STACK, ARG(0)), AFTER(SITE_SYNC_END, function, RETURN32)

const struct probe_site ze_sites[] = {
	/* list, kernel, groups: x and y in one word, z; event */
	WORK(SITE_LAUNCH, "zeCommandListAppendLaunchKernel", ARG(1), FIELD(2, 0), FIELD32(2, 8),
	     ARG(3)),
	WORK(SITE_LAUNCH, "zeCommandListAppendLaunchCooperativeKernel", ARG(1), FIELD(2, 0),
	     FIELD32(2, 8), ARG(3)),
	WORK(SITE_LAUNCH, "zeCommandListAppendLaunchKernelWithParameters", ARG(1), FIELD(2, 0),
	     FIELD32(2, 8), ARG(4)),
	/* and the same of a group */
	WORK(SITE_LAUNCH_SIZED, "zeCommandListAppendLaunchKernelWithArguments", ARG(1), ARG(2),
	     ARG32(3), ARG(4), ARG32(5), ARG(8)),
	/* The groups are in the device's memory. */
	WORK(SITE_LAUNCH_INDIRECT, "zeCommandListAppendLaunchKernelIndirect", ARG(1), ARG(3)),
	WORK(SITE_LAUNCH_SEVERAL, "zeCommandListAppendLaunchMultipleKernelsIndirect", ARG32(1),
	     ARG(2), WORDS(2, ZE_ARRAY_FIRST)),

	/* list, size, event */
	TRANSFER(TRANSFER_COPY, "zeCommandListAppendMemoryCopy", ARG(3), ARG(4)),
	TRANSFER(TRANSFER_COPY, "zeCommandListAppendMemoryCopyFromContext", ARG(4)),
	TRANSFER(TRANSFER_COPY, "zeCommandListAppendMemoryCopyWithParameters", ARG(3)),
	TRANSFER(TRANSFER_COPY_SHAPED, "zeCommandListAppendMemoryCopyRegion"),
	TRANSFER(TRANSFER_FILL, "zeCommandListAppendMemoryFill", ARG(4), ARG(5)),
	TRANSFER(TRANSFER_FILL, "zeCommandListAppendMemoryFillWithParameters", ARG(4)),
	TRANSFER(TRANSFER_PREFETCH, "zeCommandListAppendMemoryPrefetch", ARG(2)),
	TRANSFER(TRANSFER_IMAGE, "zeCommandListAppendImageCopy"),
	TRANSFER(TRANSFER_IMAGE, "zeCommandListAppendImageCopyRegion"),
	TRANSFER(TRANSFER_IMAGE, "zeCommandListAppendImageCopyToMemory"),
	TRANSFER(TRANSFER_IMAGE, "zeCommandListAppendImageCopyFromMemory"),
	TRANSFER(TRANSFER_IMAGE, "zeCommandListAppendImageCopyToMemoryExt"),
	TRANSFER(TRANSFER_IMAGE, "zeCommandListAppendImageCopyFromMemoryExt"),

	WORK(SITE_EXECUTE, "zeCommandQueueExecuteCommandLists", ARG32(1), ARG(2),
	     WORDS(2, ZE_ARRAY_FIRST)),
	WORK(SITE_EXECUTE_IN, "zeCommandListImmediateAppendCommandListsExp", ARG32(1), ARG(2),
	     WORDS(2, ZE_ARRAY_FIRST)),

	WAIT("zeCommandQueueSynchronize"),
	WAIT("zeCommandListHostSynchronize"),
	WAIT("zeEventHostSynchronize"),
	WAIT("zeFenceHostSynchronize"),
	WAIT("zeDeviceSynchronize"),

	/* format, size, bytes, place of the module, the module, error */
	{ .library = LOADER,
	  .symbol = "zeModuleCreate",
	  .id = SITE_MODULE,
	  .flags = PROBE_AT_RETURN,
	  .value = { FIELD32(2, DESC_MODULE_FORMAT), FIELD(2, DESC_MODULE_SIZE),
		     FIELD(2, DESC_MODULE_BYTES), ARG(3), OUT(3), RETURN32 },
	  .text = { .kind = PROBE_TEXT_BYTES,
		    .pointer = 2,
		    .count = 1,
		    .scale = 1,
		    .max = MODULE_MAX_BYTES },
	  .lasts = 1 + 4 },
	LASTING(SITE_MODULE_GONE, "zeModuleDestroy", 0, 0, ARG(0)),
	/* module, name, place of the kernel, the kernel, error */
	{ .library = LOADER,
	  .symbol = "zeKernelCreate",
	  .id = SITE_KERNEL,
	  .flags = PROBE_AT_RETURN,
	  .value = { ARG(0), FIELD(1, DESC_KERNEL_NAME), ARG(2), OUT(2), RETURN32 },
	  .text = { .kind = PROBE_TEXT_STRING, .pointer = 1, .max = NAME_MAX_BYTES },
	  .lasts = 1 + 3 },

	/* device, place of the result, the result, error */
	MADE(SITE_QUEUE, "zeCommandQueueCreate", ARG(1), ARG(3), OUT(1), RETURN32),
	MADE(SITE_LIST, "zeCommandListCreate", ARG(1), ARG(3), OUT(1), RETURN32),
	MADE(SITE_LIST_IMMEDIATE, "zeCommandListCreateImmediate", ARG(1), ARG(3), OUT(1), RETURN32),
	SITE(SITE_LIST_EMPTY, "zeCommandListReset", 0, ARG(0)),
	SITE(SITE_LIST_EMPTY, "zeCommandListDestroy", 0, ARG(0)),

	/* device, its properties, error */
	{ .library = LOADER,
	  .symbol = "zeDeviceGetProperties",
	  .id = SITE_DEVICE,
	  .flags = PROBE_AT_RETURN,
	  .value = { ARG(0), ARG(1), RETURN32 },
	  .text = { .kind = PROBE_TEXT_WINDOW, .pointer = 1, .max = ZE_DEVICE_BYTES },
	  .lasts = 1 },
	/* device, its properties, error */
	{ .library = LOADER,
	  .symbol = "zeDevicePciGetPropertiesExt",
	  .id = SITE_DEVICE_PCI,
	  .flags = PROBE_AT_RETURN | PROBE_OPTIONAL,
	  .value = { ARG(0), ARG(1), RETURN32 },
	  .text = { .kind = PROBE_TEXT_WINDOW, .pointer = 1, .max = PCI_ADDRESS + 16 },
	  .lasts = 1 },
	TOLD_BATCH(SITE_TOLD, INJECT_ZE_LIBRARY, INJECT_ZE_BATCH, INJECT_ZE_LISTENERS),
	TOLD_REQUEST(SITE_TIMES, INJECT_ZE_LIBRARY, INJECT_ZE_TIMES, INJECT_ZE_TIMERS),
	{ 0 },
};

const char *const ze_libraries[] = { "libze_loader.so.1", INJECT_ZE_FILE, NULL };
