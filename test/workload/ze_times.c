/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ze_times HOW ROUNDS: work for a Level Zero device, for the mock that keeps time: in each round a red and a blue kernel
 * by functions of that name, and a copy. HOW: "immediate" by an immediate list; "list" in a list that is filled anew;
 * "replay" in one that is executed again and again; "burst": the same without waiting for it; "events" with events of
 * the program's, of which it wants no times.
 */
#include <level_zero/ze_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ze_context_handle_t context;
static ze_command_queue_handle_t queue;
static ze_command_list_handle_t list;
static ze_kernel_handle_t kernels[2];
static ze_event_handle_t events[2];
static uint32_t red_groups = 200;
static char bytes[2][30000];

static void check(ze_result_t code, const char *what)
{
	if (code == ZE_RESULT_SUCCESS)
		return;
	fprintf(stderr, "%s: error %#x\n", what, code);
	exit(1);
}

__attribute__((noinline)) static void launch_red(ze_event_handle_t event)
{
	const ze_group_count_t groups = { red_groups, 1, 1 };

	check(zeCommandListAppendLaunchKernel(list, kernels[0], &groups, event, 0, NULL), "red");
}

__attribute__((noinline)) static void launch_blue(ze_event_handle_t event)
{
	const ze_group_count_t groups = { 50, 1, 1 };

	check(zeCommandListAppendLaunchKernel(list, kernels[1], &groups, event, 0, NULL), "blue");
}

static void append(void)
{
	launch_red(events[0]);
	launch_blue(events[1]);
	check(zeCommandListAppendMemoryCopy(list, bytes[0], bytes[1], sizeof(bytes[0]), NULL, 0,
					    NULL),
	      "copy");
}

__attribute__((noinline)) static void execute(void)
{
	check(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL), "execute");
}

static void open_device(int is_immediate)
{
	const ze_context_desc_t context_desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	const ze_command_queue_desc_t queue_desc = { .stype =
							     ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
	const ze_command_list_desc_t list_desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	const ze_module_desc_t module_desc = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC };
	ze_device_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
	static const char *const names[] = { "red", "blue" };
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_module_handle_t module;
	uint32_t one = 1;

	check(zeInit(0), "init");
	check(zeDriverGet(&one, &driver), "driver");
	check(zeDeviceGet(driver, &one, &device), "device");
	check(zeDeviceGetProperties(device, &properties), "properties");
	check(zeContextCreate(driver, &context_desc, &context), "context");
	check(zeCommandQueueCreate(context, device, &queue_desc, &queue), "queue");
	check(is_immediate ? zeCommandListCreateImmediate(context, device, &queue_desc, &list)
			   : zeCommandListCreate(context, device, &list_desc, &list),
	      "list");
	check(zeModuleCreate(context, device, &module_desc, &module, NULL), "module");
	for (int i = 0; i < 2; i++) {
		ze_kernel_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC };
		desc.pKernelName = names[i];
		check(zeKernelCreate(module, &desc, &kernels[i]), "kernel");
	}
}

static void make_events(void)
{
	const ze_event_pool_desc_t pool_desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
						 .count = 2 };
	ze_event_pool_handle_t pool;

	check(zeEventPoolCreate(context, &pool_desc, 0, NULL, &pool), "pool");
	for (uint32_t i = 0; i < 2; i++) {
		ze_event_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = i };
		check(zeEventCreate(pool, &desc, &events[i]), "event");
	}
}

static void wait_for_events(void)
{
	for (int i = 0; i < 2; i++) {
		check(zeEventHostSynchronize(events[i], UINT64_MAX), "wait");
		check(zeEventQueryStatus(events[i]), "status");
		check(zeEventHostReset(events[i]), "reset");
		if (zeEventQueryStatus(events[i]) != ZE_RESULT_NOT_READY)
			exit(1);
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 0;
	int is_list = argc > 1 && !strcmp(argv[1], "list"),
	    is_replay = argc > 1 && !strcmp(argv[1], "replay"),
	    is_burst = argc > 1 && !strcmp(argv[1], "burst"),
	    has_events = argc > 1 && !strcmp(argv[1], "events");

	/* Longer than a thread may be kept from its CPU between two of its calls. */
	if (is_burst)
		red_groups = 40000;
	open_device(!is_list && !is_replay && !is_burst);
	if (has_events)
		make_events();
	for (int i = 0; i < rounds; i++) {
		if (i == 0 || (!is_replay && !is_burst))
			append();
		if (has_events)
			wait_for_events();
		if (is_list || ((is_replay || is_burst) && i == 0))
			check(zeCommandListClose(list), "close");
		if (is_list || is_replay || is_burst)
			execute();
		if (is_list || is_replay)
			check(zeCommandQueueSynchronize(queue, UINT64_MAX), "wait");
		if (is_list)
			check(zeCommandListReset(list), "reset");
	}
	check(zeCommandQueueSynchronize(queue, UINT64_MAX), "wait");
	check(zeCommandListDestroy(list), "destroy");
	check(zeContextDestroy(context), "destroy");
	return 0;
}
