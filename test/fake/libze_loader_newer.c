/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What loaders of Level Zero from 2025 on have and Debian's has not: launches with their arguments (ze_api.h of 1.14). They
 * do nothing. Its file is called libze_loader-newer.so; the other functions are there because a loader has them.
 */
#include <level_zero/ze_api.h>

struct group_size {
	uint32_t x, y, z; /* ze_group_size_t */
};

ze_result_t zeCommandListAppendLaunchKernelWithArguments(ze_command_list_handle_t list,
							 ze_kernel_handle_t kernel,
							 ze_group_count_t groups,
							 struct group_size size, void **arguments,
							 const void *next, ze_event_handle_t event,
							 uint32_t count, ze_event_handle_t *events);
ze_result_t zeCommandListAppendLaunchKernelWithArguments(ze_command_list_handle_t list,
							 ze_kernel_handle_t kernel,
							 ze_group_count_t groups,
							 struct group_size size, void **arguments,
							 const void *next, ze_event_handle_t event,
							 uint32_t count, ze_event_handle_t *events)
{
	(void)list, (void)kernel, (void)arguments, (void)next, (void)event, (void)events;
	return groups.groupCountX && size.x && !count ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNKNOWN;
}

ze_result_t zeCommandListAppendLaunchKernelWithParameters(
	ze_command_list_handle_t list, ze_kernel_handle_t kernel, const ze_group_count_t *groups,
	const void *next, ze_event_handle_t event, uint32_t count, ze_event_handle_t *events);
ze_result_t zeCommandListAppendLaunchKernelWithParameters(ze_command_list_handle_t list,
							  ze_kernel_handle_t kernel,
							  const ze_group_count_t *groups,
							  const void *next, ze_event_handle_t event,
							  uint32_t count, ze_event_handle_t *events)
{
	(void)list, (void)kernel, (void)next, (void)event, (void)events;
	return groups->groupCountX && !count ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNKNOWN;
}

ze_result_t zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device,
			   const ze_module_desc_t *desc, ze_module_handle_t *module,
			   ze_module_build_log_handle_t *log)
{
	(void)context, (void)device, (void)desc, (void)module, (void)log;
	return ZE_RESULT_ERROR_UNINITIALIZED;
}

ze_result_t zeKernelCreate(ze_module_handle_t module, const ze_kernel_desc_t *desc,
			   ze_kernel_handle_t *kernel)
{
	(void)module, (void)desc, (void)kernel;
	return ZE_RESULT_ERROR_UNINITIALIZED;
}

ze_result_t zeDeviceGetProperties(ze_device_handle_t device, ze_device_properties_t *properties)
{
	(void)device, (void)properties;
	return ZE_RESULT_ERROR_UNINITIALIZED;
}
