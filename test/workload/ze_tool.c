/* SPDX-License-Identifier: Apache-2.0 */
/* Another tool that stands before the loader's library: it counts, and says so at the end. */
#include <dlfcn.h>
#include <level_zero/ze_api.h>
#include <stdio.h>

static unsigned int kernels, launches;

ze_result_t zeKernelCreate(ze_module_handle_t module, const ze_kernel_desc_t *desc,
			   ze_kernel_handle_t *kernel)
{
	__typeof__(&zeKernelCreate) real;

	*(void **)&real = dlsym(RTLD_NEXT, "zeKernelCreate");
	kernels++;
	return real(module, desc, kernel);
}

ze_result_t zeCommandListAppendLaunchKernel(ze_command_list_handle_t list,
					    ze_kernel_handle_t kernel,
					    const ze_group_count_t *groups, ze_event_handle_t event,
					    uint32_t count, ze_event_handle_t *events)
{
	__typeof__(&zeCommandListAppendLaunchKernel) real;

	*(void **)&real = dlsym(RTLD_NEXT, "zeCommandListAppendLaunchKernel");
	launches++;
	return real(list, kernel, groups, event, count, events);
}

__attribute__((destructor)) static void say(void)
{
	printf("tool: %u kernels, %u launches\n", kernels, launches);
}
