/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library inside a program that uses Level Zero: where kernels' code is, asked of the driver as they are made, and
 * of kernels that are there already as they are launched. It comes before the loader's library by LD_PRELOAD, or into a
 * running program. Launches themselves are seen from outside, at the loader: here they only pass, by a jump that leaves
 * no frame behind.
 */
#include "inject/batch.h"
#include "inject/channel.h"
#include "inject/kernels.h"
#include "inject/ze_calls.h"
#include "inject/ze_time.h"

#include <stdlib.h>
#include <string.h>

#define OURS(name, parameters)  [NUMBER_##name] = { #name, (void *)name, NULL },
#define OTHER(name, parameters) [NUMBER_##name] = { #name, NULL, NULL },
struct hook ze_hooks[HOOK_COUNT] = { ZE_LED(OURS)[LED_COUNT] = { "", NULL, NULL },
				     ZE_CALLED(OTHER) };

#define DRIVERS_MAX 8
#define NAME_BYTES  4096

/* Drivers call each other's functions for themselves. */
static const char *const not_led[] = { "libze_", "libaccel-prof", NULL };

static struct known modules; /* their owners are their devices */
static ze_result (*get_base)(void *kernel, uint64_t *address);

static void find(void)
{
	hook_find(ze_hooks, HOOK_COUNT, "libze_loader");
}

/* The driver's own function, which no header declares but every driver has had since 2022. */
static void find_base(void)
{
	void *drivers[DRIVERS_MAX], *driver;
	uint32_t count = DRIVERS_MAX;

	if (get_base || !REAL(zeDriverGet) || !REAL(zeDriverGetExtensionFunctionAddress) ||
	    REAL(zeDriverGet)(&count, drivers) != ZE_OK)
		return;
	for (uint32_t i = 0; i < count && i < DRIVERS_MAX && !get_base; i++) {
		driver = drivers[i];
		if (REAL(zeDriverGetExtensionFunctionAddress)(driver, "zexKernelGetBaseAddress",
							      (void **)&get_base) != ZE_OK)
			get_base = NULL;
	}
}

static uint32_t pci_of(void *device)
{
	struct ze_pci pci = { .type = ZE_TYPE_PCI };

	if (!device || !REAL(zeDevicePciGetPropertiesExt) ||
	    REAL(zeDevicePciGetPropertiesExt)(device, &pci) != ZE_OK)
		return 0;
	return pci.domain << 16 | (pci.bus & 0xff) << 8 | (pci.device & 0x1f) << 3 |
	       (pci.function & 7);
}

/* With the lock. */
static void tell_module(void *module, struct known_slot *slot)
{
	uint64_t properties[ZE_DEVICE_WORDS] = { ZE_TYPE_DEVICE };
	size_t size = 0;
	void *bytes;

	if (slot->session == watch_session())
		return;
	/* The recorder sees the answer. */
	if (slot->owner && REAL(zeDeviceGetProperties))
		REAL(zeDeviceGetProperties)(slot->owner, properties);
	slot->session = watch_session();
	if (!REAL(zetModuleGetDebugInfo) ||
	    REAL(zetModuleGetDebugInfo)(module, ZE_ELF_DWARF, &size, NULL) != ZE_OK || !size)
		return;
	bytes = malloc(size);
	if (bytes && REAL(zetModuleGetDebugInfo)(module, ZE_ELF_DWARF, &size, bytes) == ZE_OK)
		batch_code((uintptr_t)module, bytes, size);
	free(bytes);
	batch_send();
}

static uint32_t name_of(void *kernel)
{
	size_t size = 0;
	char name[NAME_BYTES] = "";

	if (REAL(zeKernelGetName) && REAL(zeKernelGetName)(kernel, &size, NULL) == ZE_OK &&
	    size < sizeof(name))
		REAL(zeKernelGetName)(kernel, &size, name);
	return name[0] ? batch_name(name) : 0;
}

static uint64_t size_of(void *kernel)
{
	size_t size = 0;

	if (!REAL(zeKernelGetBinaryExp) || REAL(zeKernelGetBinaryExp)(kernel, &size, NULL) != ZE_OK)
		return 0;
	return size;
}

/* Where it is, as far as the driver says it. */
static uint64_t address_of(void *kernel)
{
	void *translated = kernel;
	uint64_t address = 0;

	find_base();
	/* Where there are several drivers the loader's handles are not theirs. */
	if (REAL(zelLoaderTranslateHandle))
		REAL(zelLoaderTranslateHandle)(ZE_HANDLE_KERNEL, kernel, &translated);
	if (!get_base || get_base(translated, &address) != ZE_OK)
		return 0;
	return address;
}

static void tell_kernel(void *kernel, void *owner)
{
	struct known_slot *module = owner ? known_find(&modules, owner) : NULL;
	struct inject_kernel message = { .handle = (uintptr_t)kernel, .module = (uintptr_t)owner };

	/* A module from before, of a device that nobody says. */
	if (owner && (!module || !module->is_live))
		module = known_add(&modules, owner, NULL);
	if (module) {
		tell_module(owner, module);
		message.device = (uintptr_t)module->owner;
		message.pci = pci_of(module->owner);
	}
	message.address = address_of(kernel);
	/* The module's image tells sizes better. */
	message.size = module ? 0 : size_of(kernel);
	message.name = name_of(kernel);
	batch_kernel(&message);
	batch_send();
}

const struct kernels_source kernels_source = {
	ze_hooks, HOOK_COUNT, LED_COUNT, not_led, find, tell_kernel, ze_time_look,
};

/* Once to each recorder. */
static void greet(void)
{
	static uint32_t greeted;

	if (watch_is_heard() &&
	    __atomic_exchange_n(&greeted, watch_session(), __ATOMIC_ACQ_REL) != watch_session())
		batch_here(kernels_are_all());
}

ze_result zeModuleCreate(void *context, void *device, const void *desc, void **module, void **log)
{
	struct known_slot *slot;
	ze_result rc = ZE_UNINITIALIZED;

	kernels_enter();
	greet();
	if (REAL(zeModuleCreate))
		rc = REAL(zeModuleCreate)(context, device, desc, module, log);
	if (rc == ZE_OK) {
		kernels_lock();
		slot = known_add(&modules, *module, device);
		if (slot && watch_is_heard())
			tell_module(*module, slot);
		kernels_unlock();
	}
	watch_leave();
	return rc;
}

ze_result zeModuleDestroy(void *module)
{
	ze_result rc = ZE_UNINITIALIZED;

	kernels_enter();
	kernels_lock();
	known_forget(&modules, module);
	kernels_unlock();
	if (REAL(zeModuleDestroy))
		rc = REAL(zeModuleDestroy)(module);
	watch_leave();
	return rc;
}

ze_result zeKernelCreate(void *module, const void *desc, void **kernel)
{
	ze_result rc = ZE_UNINITIALIZED;

	kernels_enter();
	greet();
	if (REAL(zeKernelCreate))
		rc = REAL(zeKernelCreate)(module, desc, kernel);
	if (rc == ZE_OK)
		kernels_made(*kernel, module);
	watch_leave();
	return rc;
}

ze_result zeKernelDestroy(void *kernel)
{
	ze_result rc = ZE_UNINITIALIZED;

	kernels_enter();
	kernels_gone(kernel);
	if (REAL(zeKernelDestroy))
		rc = REAL(zeKernelDestroy)(kernel);
	watch_leave();
	return rc;
}

/* What is appended are jumps: whoever made the kernel has found what is real. */
#define KERNEL_EVENT(event) ze_time_event(list, event, INJECT_LAUNCH_KERNEL)

ze_result zeCommandListAppendLaunchKernel(void *list, void *kernel, const void *groups, void *event,
					  uint32_t count, void **events)
{
	kernels_pass(kernel);
	PASS(zeCommandListAppendLaunchKernel, list, kernel, groups, KERNEL_EVENT(event), count,
	     events);
}

ze_result zeCommandListAppendLaunchCooperativeKernel(void *list, void *kernel, const void *groups,
						     void *event, uint32_t count, void **events)
{
	kernels_pass(kernel);
	PASS(zeCommandListAppendLaunchCooperativeKernel, list, kernel, groups, KERNEL_EVENT(event),
	     count, events);
}

ze_result zeCommandListAppendLaunchKernelIndirect(void *list, void *kernel, const void *groups,
						  void *event, uint32_t count, void **events)
{
	kernels_pass(kernel);
	PASS(zeCommandListAppendLaunchKernelIndirect, list, kernel, groups, KERNEL_EVENT(event),
	     count, events);
}

ze_result zeCommandListAppendLaunchMultipleKernelsIndirect(void *list, uint32_t kernel_count,
							   void **several, const void *actual,
							   const void *groups, void *event,
							   uint32_t count, void **events)
{
	for (uint32_t i = 0; several && i < kernel_count; i++)
		kernels_pass(several[i]);
	PASS(zeCommandListAppendLaunchMultipleKernelsIndirect, list, kernel_count, several, actual,
	     groups, event, count, events);
}

ze_result zeCommandListAppendLaunchKernelWithParameters(void *list, void *kernel,
							const void *groups, const void *next,
							void *event, uint32_t count, void **events)
{
	kernels_pass(kernel);
	PASS(zeCommandListAppendLaunchKernelWithParameters, list, kernel, groups, next,
	     KERNEL_EVENT(event), count, events);
}

ze_result zeCommandListAppendLaunchKernelWithArguments(void *list, void *kernel,
						       struct ze_groups groups,
						       struct ze_groups sizes, void **arguments,
						       const void *next, void *event,
						       uint32_t count, void **events)
{
	kernels_pass(kernel);
	PASS(zeCommandListAppendLaunchKernelWithArguments, list, kernel, groups, sizes, arguments,
	     next, KERNEL_EVENT(event), count, events);
}

ze_result zeCommandListAppendMemoryCopy(void *list, void *to, const void *from, size_t size,
					void *event, uint32_t count, void **events)
{
	PASS(zeCommandListAppendMemoryCopy, list, to, from, size,
	     ze_time_event(list, event, INJECT_LAUNCH_COPY), count, events);
}

ze_result zeCommandListAppendMemoryFill(void *list, void *to, const void *pattern,
					size_t pattern_size, size_t size, void *event,
					uint32_t count, void **events)
{
	PASS(zeCommandListAppendMemoryFill, list, to, pattern, pattern_size, size,
	     ze_time_event(list, event, INJECT_LAUNCH_FILL), count, events);
}

EXPORT int accel_prof_ze_start(void *self, void *unused);
int accel_prof_ze_start(void *self, void *unused)
{
	(void)unused;
	return kernels_start_inserted(self);
}
