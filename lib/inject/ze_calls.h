/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of Level Zero that are led through the library, and those that it calls besides. REAL() is what is called
 * then. */
#pragma once

#include "inject/channel.h"
#include "inject/hook.h"
#include "inject/ze_api.h"

#define ZE_LED(X)                                                                                 \
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
	   void **arguments, const void *next, void *event, uint32_t count, void **events))       \
	X(zeCommandListAppendMemoryCopy, (void *list, void *to, const void *from, size_t size,    \
					  void *event, uint32_t count, void **events))            \
	X(zeCommandListAppendMemoryFill,                                                          \
	  (void *list, void *to, const void *pattern, size_t pattern_size, size_t size,           \
	   void *event, uint32_t count, void **events))                                           \
	X(zeContextDestroy, (void *context))                                                      \
	X(zeCommandListCreate, (void *context, void *device, const void *desc, void **list))      \
	X(zeCommandListCreateImmediate,                                                           \
	  (void *context, void *device, const void *desc, void **list))                           \
	X(zeCommandListReset, (void *list))                                                       \
	X(zeCommandListDestroy, (void *list))                                                     \
	X(zeCommandQueueExecuteCommandLists,                                                      \
	  (void *queue, uint32_t count, void **lists, void *fence))                               \
	X(zeCommandListImmediateAppendCommandListsExp,                                            \
	  (void *list, uint32_t list_count, void **lists, void *event, uint32_t count,            \
	   void **events))                                                                        \
	X(zeEventPoolCreate, (void *context, const struct ze_pool_desc *desc, uint32_t count,     \
			      void **devices, void **pool))                                       \
	X(zeEventHostReset, (void *event))                                                        \
	X(zeEventDestroy, (void *event))                                                          \
	X(zeCommandQueueSynchronize, (void *queue, uint64_t timeout))                             \
	X(zeCommandListHostSynchronize, (void *list, uint64_t timeout))                           \
	X(zeEventHostSynchronize, (void *event, uint64_t timeout))                                \
	X(zeFenceHostSynchronize, (void *fence, uint64_t timeout))

#define ZE_CALLED(X)                                                                              \
	X(zetModuleGetDebugInfo, (void *module, uint32_t format, size_t *size, void *bytes))      \
	X(zeKernelGetName, (void *kernel, size_t *size, char *name))                              \
	X(zeKernelGetBinaryExp, (void *kernel, size_t *size, void *bytes))                        \
	X(zeDeviceGetProperties, (void *device, void *properties))                                \
	X(zeDevicePciGetPropertiesExt, (void *device, struct ze_pci *properties))                 \
	X(zeDriverGet, (uint32_t * count, void **drivers))                                        \
	X(zeDriverGetExtensionFunctionAddress, (void *driver, const char *name, void **function)) \
	X(zelLoaderTranslateHandle, (uint32_t type, void *from, void **to))                       \
	X(zeEventPoolDestroy, (void *pool))                                                       \
	X(zeEventCreate, (void *pool, const struct ze_event_desc *desc, void **event))            \
	X(zeEventQueryStatus, (void *event))                                                      \
	X(zeEventQueryKernelTimestamp, (void *event, struct ze_timestamps *times))                \
	X(zeDeviceGetGlobalTimestamps, (void *device, uint64_t *host, uint64_t *ticks))

#define ZE_DECLARE(name, parameters) EXPORT ze_result name parameters;
ZE_LED(ZE_DECLARE)
#define ZE_TYPE(name, parameters) typedef ze_result(*name##_fn) parameters;
ZE_LED(ZE_TYPE)
ZE_CALLED(ZE_TYPE)
#define ZE_NUMBER(name, parameters) NUMBER_##name,
enum {
	ZE_LED(ZE_NUMBER) LED_COUNT,
	ZE_CALLED(ZE_NUMBER) HOOK_COUNT
};

extern struct hook ze_hooks[HOOK_COUNT];

#define REAL(name) ((name##_fn)__atomic_load_n(&ze_hooks[NUMBER_##name].real, __ATOMIC_ACQUIRE))
/* Nothing may come between, so that this is a jump. */
#define PASS(name, ...) return REAL(name) ? REAL(name)(__VA_ARGS__) : ZE_UNINITIALIZED
