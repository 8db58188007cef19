/* SPDX-License-Identifier: Apache-2.0 */
/* intel_mm by Level Zero. */
#include "intel_mm.h"

#include <level_zero/ze_api.h>
#include <level_zero/zet_api.h>

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;
static ze_command_queue_handle_t queue;
static ze_command_list_handle_t list;
static ze_module_handle_t module;
static ze_kernel_handle_t kernels[VERSIONS];
static enum {
	IN_LIST,
	IMMEDIATE,
	REPLAY
} how;
static int is_recorded;

static void set_arguments(ze_kernel_handle_t kernel)
{
	static const ze_device_mem_alloc_desc_t memory = {
		.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC
	};
	const int n = SIZE;
	void *matrix;

	check(zeKernelSetGroupSize(kernel, TILE, TILE, 1), "zeKernelSetGroupSize");
	check(zeKernelSetArgumentValue(kernel, 0, sizeof(n), &n), "zeKernelSetArgumentValue");
	for (uint32_t i = 1; i <= 3; i++) {
		check(zeMemAllocDevice(context, &memory, SIZE * SIZE * 4, 64, device, &matrix),
		      "zeMemAllocDevice");
		check(zeKernelSetArgumentValue(kernel, i, sizeof(matrix), &matrix),
		      "zeKernelSetArgumentValue");
	}
}

static void make_kernels(void)
{
	for (int i = 0; i < VERSIONS; i++) {
		ze_kernel_desc_t kernel = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC };
		kernel.pKernelName = kernel_names[i];
		check(zeKernelCreate(module, &kernel, &kernels[i]), "zeKernelCreate");
		set_arguments(kernels[i]);
	}
}

static void load_module(const char *file)
{
	ze_module_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC };

	desc.format = ZE_MODULE_FORMAT_NATIVE;
	desc.pInputModule = read_whole(file, &desc.inputSize);
	check(zeModuleCreate(context, device, &desc, &module, NULL), "zeModuleCreate");
	free((void *)desc.pInputModule);
	make_kernels();
}

static void begin_ze(void)
{
	uint32_t one = 1;

	if (zeInit(0) != ZE_RESULT_SUCCESS || zeDriverGet(&one, &driver) != ZE_RESULT_SUCCESS ||
	    !driver || zeDeviceGet(driver, &one, &device) != ZE_RESULT_SUCCESS) {
		fprintf(stderr, "no Level Zero device\n");
		exit(77);
	}
}

static void open_ze(const char *file, const char *mode)
{
	ze_context_desc_t context_desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_command_queue_desc_t queue_desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
	ze_command_list_desc_t list_desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	ze_device_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };

	begin_ze();
	check(zeDeviceGetProperties(device, &properties), "zeDeviceGetProperties");
	how = strcmp(mode, "immediate") == 0 ? IMMEDIATE
	      : strcmp(mode, "replay") == 0  ? REPLAY
					     : IN_LIST;
	check(zeContextCreate(driver, &context_desc, &context), "zeContextCreate");
	if (how == IMMEDIATE) {
		queue_desc.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
		check(zeCommandListCreateImmediate(context, device, &queue_desc, &list),
		      "zeCommandListCreateImmediate");
	} else {
		check(zeCommandQueueCreate(context, device, &queue_desc, &queue),
		      "zeCommandQueueCreate");
		check(zeCommandListCreate(context, device, &list_desc, &list),
		      "zeCommandListCreate");
	}
	load_module(file);
}

static uint64_t address_ze(int version)
{
	ze_result_t (*base)(ze_kernel_handle_t, uint64_t *) = NULL;
	uint64_t address = 0;

	check(zeDriverGetExtensionFunctionAddress(driver, "zexKernelGetBaseAddress",
						  (void **)&base),
	      "zexKernelGetBaseAddress");
	check(base(kernels[version], &address), "zexKernelGetBaseAddress");
	return address;
}

__attribute__((noinline)) static void multiply_basic(void)
{
	const ze_group_count_t groups = { SIZE / TILE, SIZE / TILE, 1 };

	if (!is_recorded)
		check(zeCommandListAppendLaunchKernel(list, kernels[BASIC], &groups, NULL, 0, NULL),
		      "multiply_basic");
}

__attribute__((noinline)) static void multiply_local(void)
{
	const ze_group_count_t groups = { SIZE / TILE, SIZE / TILE, 1 };

	if (!is_recorded)
		check(zeCommandListAppendLaunchKernel(list, kernels[LOCAL], &groups, NULL, 0, NULL),
		      "multiply_local");
}

__attribute__((noinline)) static void multiply_tiled(void)
{
	const ze_group_count_t groups = { SIZE / TILE / 4, SIZE / TILE, 1 };

	if (!is_recorded)
		check(zeCommandListAppendLaunchKernel(list, kernels[TILED], &groups, NULL, 0, NULL),
		      "multiply_tiled");
}

__attribute__((noinline)) static void execute(void)
{
	check(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL),
	      "zeCommandQueueExecuteCommandLists");
	check(zeCommandQueueSynchronize(queue, UINT64_MAX), "zeCommandQueueSynchronize");
}

static void finish(void)
{
	if (how == IMMEDIATE)
		return;
	if (!is_recorded)
		check(zeCommandListClose(list), "zeCommandListClose");
	execute();
	is_recorded = how == REPLAY;
	if (how == IN_LIST)
		check(zeCommandListReset(list), "zeCommandListReset");
}

static void dump_ze(const char *path)
{
	size_t size = 0;
	uint8_t *bytes;

	check(zetModuleGetDebugInfo(module, ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF, &size, NULL),
	      "zetModuleGetDebugInfo");
	bytes = malloc(size);
	if (!bytes)
		exit(1);
	check(zetModuleGetDebugInfo(module, ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF, &size, bytes),
	      "zetModuleGetDebugInfo");
	write_whole(path, bytes, size);
	free(bytes);
}

static void empty(void)
{
	check(zeCommandListReset(list), "zeCommandListReset");
}

const struct backend ze_backend = {
	.begin = begin_ze,
	.open = open_ze,
	.address = address_ze,
	.multiply_basic = multiply_basic,
	.multiply_local = multiply_local,
	.multiply_tiled = multiply_tiled,
	.finish = finish,
	.empty = empty,
	.anew = make_kernels,
	.dump = dump_ze,
};
