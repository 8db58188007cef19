/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ze_calls ZEBIN NEWER: says "ready", waits for a line, and makes one of each call that gives a Level Zero device work, in
 * order, into lists that are not executed; and says for each what it should be recorded as: "NAME BYTES GRID BLOCK",
 * kernels by theirs. NEWER is test/fake's library with what the installed loader has not.
 */
#include "intel_mm.h"

#include <dlfcn.h>
#include <level_zero/ze_api.h>

struct group_size {
	uint32_t x, y, z;
};

typedef ze_result_t (*with_arguments)(ze_command_list_handle_t, ze_kernel_handle_t,
				      ze_group_count_t, struct group_size, void **, const void *,
				      ze_event_handle_t, uint32_t, ze_event_handle_t *);
typedef ze_result_t (*with_parameters)(ze_command_list_handle_t, ze_kernel_handle_t,
				       const ze_group_count_t *, const void *, ze_event_handle_t,
				       uint32_t, ze_event_handle_t *);

static ze_context_handle_t context;
static ze_device_handle_t device;
/* A list has kernels of one kind. */
static ze_command_list_handle_t list, cooperative;
static ze_kernel_handle_t kernels[2];
static const ze_group_count_t groups = { 2, 3, 4 }, few = { 2, 1, 1 };

static void told(ze_result_t code, const char *name, size_t bytes, const char *sizes)
{
	check(code, name);
	printf("%s %zu %s\n", name, bytes, sizes);
}

static void open_device(const char *file)
{
	ze_context_desc_t context_desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_command_list_desc_t list_desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	ze_module_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC };
	ze_driver_handle_t driver;
	ze_module_handle_t module;
	uint32_t one = 1;

	check(zeInit(0), "zeInit");
	check(zeDriverGet(&one, &driver), "zeDriverGet");
	check(zeDeviceGet(driver, &one, &device), "zeDeviceGet");
	check(zeContextCreate(driver, &context_desc, &context), "zeContextCreate");
	check(zeCommandListCreate(context, device, &list_desc, &list), "zeCommandListCreate");
	check(zeCommandListCreate(context, device, &list_desc, &cooperative),
	      "zeCommandListCreate");
	desc.format = ZE_MODULE_FORMAT_NATIVE;
	desc.pInputModule = read_whole(file, &desc.inputSize);
	check(zeModuleCreate(context, device, &desc, &module, NULL), "zeModuleCreate");
	for (int i = 0; i < 2; i++) {
		ze_kernel_desc_t kernel = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC };
		kernel.pKernelName = kernel_names[i];
		check(zeKernelCreate(module, &kernel, &kernels[i]), "zeKernelCreate");
		check(zeKernelSetGroupSize(kernels[i], TILE, TILE, 1), "zeKernelSetGroupSize");
	}
}

static void *memory(void)
{
	ze_device_mem_alloc_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	ze_host_mem_alloc_desc_t host = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
	void *ret;

	check(zeMemAllocShared(context, &desc, &host, 65536, 64, device, &ret), "zeMemAllocShared");
	return ret;
}

static void transfers(void)
{
	ze_copy_region_t region = { 0, 0, 0, 16, 4, 1 };
	char *a = memory(), *b = memory(), pattern = 7;

	told(zeCommandListAppendMemoryCopy(list, a, b, 4096, NULL, 0, NULL), "Memory Copy", 4096,
	     "");
	told(zeCommandListAppendMemoryFill(list, a, &pattern, 1, 512, NULL, 0, NULL), "Memory Fill",
	     512, "");
	told(zeCommandListAppendMemoryCopyRegion(list, a, &region, 64, 256, b, &region, 64, 256,
						 NULL, 0, NULL),
	     "Memory Copy 2D/3D", 0, "");
	told(zeCommandListAppendMemoryPrefetch(list, a, 1024), "Memory Prefetch", 1024, "");
}

static void newer(void *library)
{
	struct group_size size = { 8, 2, 1 };
	with_arguments arguments;
	with_parameters parameters;

	*(void **)&arguments = dlsym(library, "zeCommandListAppendLaunchKernelWithArguments");
	*(void **)&parameters = dlsym(library, "zeCommandListAppendLaunchKernelWithParameters");
	told(arguments(list, kernels[1], groups, size, NULL, NULL, NULL, 0, NULL), kernel_names[1],
	     0, "2,3,4 8,2,1");
	told(parameters(list, kernels[0], &groups, NULL, NULL, 0, NULL), kernel_names[0], 0,
	     "2,3,4");
}

int main(int argc, char **argv)
{
	void *library = argc > 2 ? dlopen(argv[2], RTLD_NOW) : NULL;
	char line[16];

	if (!library)
		return 2;
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	open_device(argv[1]);
	told(zeCommandListAppendLaunchKernel(list, kernels[0], &groups, NULL, 0, NULL),
	     kernel_names[0], 0, "2,3,4");
	told(zeCommandListAppendLaunchCooperativeKernel(cooperative, kernels[1], &few, NULL, 0,
							NULL),
	     kernel_names[1], 0, "2,1,1");
	ze_group_count_t *several = memory();
	uint32_t *count = memory();
	several[0] = several[1] = groups;
	*count = 2;
	told(zeCommandListAppendLaunchKernelIndirect(list, kernels[0], several, NULL, 0, NULL),
	     kernel_names[0], 0, "");
	told(zeCommandListAppendLaunchMultipleKernelsIndirect(list, 2, kernels, count, several,
							      NULL, 0, NULL),
	     kernel_names[0], 0, "");
	printf("%s 0 \n", kernel_names[1]);
	transfers();
	newer(library);
	return 0;
}
