/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library inside a program that uses Level Zero: where kernels' code is, asked of the driver as they are made, and
 * of kernels that are there already as they are launched. It comes before the loader's library by LD_PRELOAD, or into a
 * running program. Launches themselves are seen from outside, at the loader: here they only pass, by a jump that leaves
 * no frame behind.
 */
#include "inject/batch.h"
#include "inject/channel.h"
#include "inject/hook.h"
#include "inject/known.h"
#include "inject/watch.h"
#include "inject/ze_api.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Led through here, and what is called besides. */
#define LED(X)                                                                                    \
	X(zeModuleCreate,                                                                         \
	  (void *context, void *device, const void *desc, void **module, void **log))             \
	X(zeModuleDestroy, (void *module))                                                        \
	X(zeKernelCreate, (void *module, const void *desc, void **kernel))                        \
	X(zeKernelDestroy, (void *kernel))                                                        \
	X(zeCommandListAppendLaunchKernel, (void *list, void *kernel, const void *groups,         \
					    void *event, uint32_t count, void **events))          \
	X(zeCommandListAppendLaunchCooperativeKernel,                                             \
	  (void *list, void *kernel, const void *groups, void *event, uint32_t count,             \
	   void **events))                                                                        \
	X(zeCommandListAppendLaunchKernelIndirect, (void *list, void *kernel, const void *groups, \
						    void *event, uint32_t count, void **events))  \
	X(zeCommandListAppendLaunchMultipleKernelsIndirect,                                       \
	  (void *list, uint32_t kernel_count, void **kernels, const void *actual,                 \
	   const void *groups, void *event, uint32_t count, void **events))                       \
	X(zeCommandListAppendLaunchKernelWithParameters,                                          \
	  (void *list, void *kernel, const void *groups, const void *next, void *event,           \
	   uint32_t count, void **events))                                                        \
	X(zeCommandListAppendLaunchKernelWithArguments,                                           \
	  (void *list, void *kernel, struct ze_groups groups, struct ze_groups sizes,             \
	   void **arguments, const void *next, void *event, uint32_t count, void **events))
#define CALLED(X)                                                                                 \
	X(zetModuleGetDebugInfo, (void *module, uint32_t format, size_t *size, void *bytes))      \
	X(zeKernelGetName, (void *kernel, size_t *size, char *name))                              \
	X(zeKernelGetBinaryExp, (void *kernel, size_t *size, void *bytes))                        \
	X(zeDeviceGetProperties, (void *device, void *properties))                                \
	X(zeDevicePciGetPropertiesExt, (void *device, struct ze_pci *properties))                 \
	X(zeDriverGet, (uint32_t * count, void **drivers))                                        \
	X(zeDriverGetExtensionFunctionAddress, (void *driver, const char *name, void **function)) \
	X(zelLoaderTranslateHandle, (uint32_t type, void *from, void **to))

#define DECLARE(name, parameters) EXPORT ze_result name parameters;
LED(DECLARE)
#define TYPE(name, parameters) typedef ze_result(*name##_fn) parameters;
LED(TYPE)
CALLED(TYPE)
#define NUMBER(name, parameters) NUMBER_##name,
enum {
	LED(NUMBER) LED_COUNT,
	CALLED(NUMBER) HOOK_COUNT
};

#define OURS(name, parameters)  [NUMBER_##name] = { #name, (void *)name, NULL },
#define OTHER(name, parameters) [NUMBER_##name] = { #name, NULL, NULL },
static struct hook hooks[HOOK_COUNT] = { LED(OURS)[LED_COUNT] = { "", NULL, NULL }, CALLED(OTHER) };
#define REAL(name) ((name##_fn)__atomic_load_n(&hooks[NUMBER_##name].real, __ATOMIC_ACQUIRE))

#define DRIVERS_MAX 8
#define NAME_BYTES  4096

/* Drivers call each other's functions for themselves. */
static const char *const not_led[] = { "libze_", "libaccel-prof", NULL };

static pthread_once_t found = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known modules, kernels; /* owners: a module's device, a kernel's module */
static bool is_inserted;
static ze_result (*get_base)(void *kernel, uint64_t *address);

static void find(void)
{
	hook_find(hooks, HOOK_COUNT, "libze_loader");
}

static void lead(void);

static void release(void)
{
	if (is_inserted)
		hook_release(hooks, LED_COUNT);
}

static const struct watch watch = { lead, release };

static void enter(void)
{
	watch_enter();
	pthread_once(&found, find);
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

/* With the lock; @slot is the kernel's, or NULL. */
static void tell_kernel(void *kernel, struct known_slot *slot, void *owner)
{
	struct known_slot *module = owner ? known_find(&modules, owner) : NULL;
	struct inject_kernel message = { .handle = (uintptr_t)kernel, .module = (uintptr_t)owner };

	if (slot)
		slot->session = watch_session();
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

static void tell(void *kernel)
{
	struct known_slot *slot;

	if (kernels.count >= KNOWN_SLOTS / 2)
		return;
	enter();
	pthread_mutex_lock(&lock);
	slot = known_find(&kernels, kernel);
	if (!slot)
		slot = known_add(&kernels, kernel, NULL);
	if (slot && slot->session != watch_session()) {
		slot->is_live = true;
		tell_kernel(kernel, slot, slot->owner);
	}
	pthread_mutex_unlock(&lock);
	watch_leave();
}

/* To a new recorder, of what is there: what is destroyed meanwhile waits. */
static void tell_all(void)
{
	static uint32_t told_all;
	struct known_slot *slot;
	uint32_t at = 0;

	if (told_all == watch_session())
		return;
	told_all = watch_session();
	pthread_mutex_lock(&lock);
	while ((slot = known_untold(&kernels, watch_session(), &at)))
		tell_kernel(slot->handle, slot, slot->owner);
	pthread_mutex_unlock(&lock);
}

static void lead(void)
{
	pthread_once(&found, find);
	tell_all();
	if (is_inserted)
		hook_lead(hooks, LED_COUNT, not_led);
}

/* What a launch costs. */
static inline void pass(void *kernel)
{
	if (watch_is_heard() && known_session(&kernels, kernel) != watch_session())
		tell(kernel);
}

/* Once to each recorder. */
static void greet(void)
{
	static uint32_t greeted;

	if (watch_is_heard() &&
	    __atomic_exchange_n(&greeted, watch_session(), __ATOMIC_ACQ_REL) != watch_session())
		batch_here();
}

ze_result zeModuleCreate(void *context, void *device, const void *desc, void **module, void **log)
{
	struct known_slot *slot;
	ze_result rc = ZE_UNINITIALIZED;

	enter();
	greet();
	if (REAL(zeModuleCreate))
		rc = REAL(zeModuleCreate)(context, device, desc, module, log);
	if (rc == ZE_OK) {
		watch_start(&watch);
		pthread_mutex_lock(&lock);
		slot = known_add(&modules, *module, device);
		if (slot && watch_is_heard())
			tell_module(*module, slot);
		pthread_mutex_unlock(&lock);
	}
	watch_leave();
	return rc;
}

/* Another may come to have its handle. */
static void forget(struct known *known, void *handle)
{
	pthread_mutex_lock(&lock);
	known_forget(known, handle);
	pthread_mutex_unlock(&lock);
}

ze_result zeModuleDestroy(void *module)
{
	ze_result rc = ZE_UNINITIALIZED;

	enter();
	forget(&modules, module);
	if (REAL(zeModuleDestroy))
		rc = REAL(zeModuleDestroy)(module);
	watch_leave();
	return rc;
}

ze_result zeKernelCreate(void *module, const void *desc, void **kernel)
{
	struct known_slot *slot;
	ze_result rc = ZE_UNINITIALIZED;

	enter();
	greet();
	if (REAL(zeKernelCreate))
		rc = REAL(zeKernelCreate)(module, desc, kernel);
	if (rc == ZE_OK) {
		watch_start(&watch);
		pthread_mutex_lock(&lock);
		slot = known_add(&kernels, *kernel, module);
		if (watch_is_heard())
			tell_kernel(*kernel, slot, module);
		pthread_mutex_unlock(&lock);
	}
	watch_leave();
	return rc;
}

ze_result zeKernelDestroy(void *kernel)
{
	ze_result rc = ZE_UNINITIALIZED;

	enter();
	forget(&kernels, kernel);
	if (REAL(zeKernelDestroy))
		rc = REAL(zeKernelDestroy)(kernel);
	watch_leave();
	return rc;
}

/* Nothing may come between, so that this is a jump: whoever made the kernel has found what is real. */
#define PASS(name, ...) return REAL(name) ? REAL(name)(__VA_ARGS__) : ZE_UNINITIALIZED

ze_result zeCommandListAppendLaunchKernel(void *list, void *kernel, const void *groups, void *event,
					  uint32_t count, void **events)
{
	pass(kernel);
	PASS(zeCommandListAppendLaunchKernel, list, kernel, groups, event, count, events);
}

ze_result zeCommandListAppendLaunchCooperativeKernel(void *list, void *kernel, const void *groups,
						     void *event, uint32_t count, void **events)
{
	pass(kernel);
	PASS(zeCommandListAppendLaunchCooperativeKernel, list, kernel, groups, event, count,
	     events);
}

ze_result zeCommandListAppendLaunchKernelIndirect(void *list, void *kernel, const void *groups,
						  void *event, uint32_t count, void **events)
{
	pass(kernel);
	PASS(zeCommandListAppendLaunchKernelIndirect, list, kernel, groups, event, count, events);
}

ze_result zeCommandListAppendLaunchMultipleKernelsIndirect(void *list, uint32_t kernel_count,
							   void **several, const void *actual,
							   const void *groups, void *event,
							   uint32_t count, void **events)
{
	for (uint32_t i = 0; several && i < kernel_count; i++)
		pass(several[i]);
	PASS(zeCommandListAppendLaunchMultipleKernelsIndirect, list, kernel_count, several, actual,
	     groups, event, count, events);
}

ze_result zeCommandListAppendLaunchKernelWithParameters(void *list, void *kernel,
							const void *groups, const void *next,
							void *event, uint32_t count, void **events)
{
	pass(kernel);
	PASS(zeCommandListAppendLaunchKernelWithParameters, list, kernel, groups, next, event,
	     count, events);
}

ze_result zeCommandListAppendLaunchKernelWithArguments(void *list, void *kernel,
						       struct ze_groups groups,
						       struct ze_groups sizes, void **arguments,
						       const void *next, void *event,
						       uint32_t count, void **events)
{
	pass(kernel);
	PASS(zeCommandListAppendLaunchKernelWithArguments, list, kernel, groups, sizes, arguments,
	     next, event, count, events);
}

EXPORT int accel_prof_ze_start(void *self, void *unused);
int accel_prof_ze_start(void *self, void *unused)
{
	(void)unused;
	if (self)
		is_inserted = true;
	return watch_start_inserted(&watch, self);
}
