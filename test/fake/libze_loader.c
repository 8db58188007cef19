/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mock of Level Zero with one GPU that keeps time: what is appended is done one after the other, a kernel in as many
 * microseconds as it has groups in x, a copy in one for each kilobyte. Timestamps are those of a real one's kind: ticks of
 * 80 ns, of which kernels have 32 bits, which wrap soon after the first piece of work.
 *
 * Into the file $ZE_MOCK_TRUTH goes a line for each piece of work that was done: "NAME START END", CLOCK_MONOTONIC.
 */
#include <level_zero/ze_api.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TICK_NS     80
#define KERNEL_BITS 32
#define DEVICE_BITS 36
#define WRAP_NS     3000100
#define WORK_MAX    4096

struct pool {
	ze_event_pool_flags_t flags;
};

struct event {
	struct pool *pool;
	uint64_t start, end; /* end 0: nothing will signal it */
};

struct kernel {
	char name[32];
};

struct work {
	char name[32];
	uint64_t duration;
	struct event *event;
};

struct list {
	int is_immediate, is_closed;
	size_t count;
	struct work work[WORK_MAX];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t base_ticks, free_at; /* when the device has done all */
static int handles[4];

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t ticks_at(uint64_t ns)
{
	return ns / TICK_NS + base_ticks;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (now() < ns)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* With the lock. */
static void carry_out(const struct work *w)
{
	const char *path = getenv("ZE_MOCK_TRUTH");
	FILE *file = path ? fopen(path, "a") : NULL;
	uint64_t start = now() > free_at ? now() : free_at;

	if (!free_at)
		base_ticks = (7ull << KERNEL_BITS) - WRAP_NS / TICK_NS - start / TICK_NS;

	free_at = start + w->duration;
	if (w->event) {
		w->event->start = start;
		w->event->end = free_at;
	}
	if (!file)
		return;
	fprintf(file, "%s %llu %llu\n", w->name, (unsigned long long)start,
		(unsigned long long)free_at);
	fclose(file);
}

static ze_result_t append(ze_command_list_handle_t handle, const char *name, uint64_t duration,
			  ze_event_handle_t event)
{
	struct list *list = (struct list *)handle;
	struct work w = { .duration = duration, .event = (struct event *)event };

	if (list->is_closed || list->count == WORK_MAX)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	snprintf(w.name, sizeof(w.name), "%s", name);
	pthread_mutex_lock(&lock);
	if (list->is_immediate)
		carry_out(&w);
	else
		list->work[list->count++] = w;
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t wait_for(uint64_t ns)
{
	sleep_until(ns);
	return ZE_RESULT_SUCCESS;
}

/* ---- the API ---- */

ze_result_t zeInit(ze_init_flags_t flags)
{
	(void)flags;
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeDriverGet(uint32_t *count, ze_driver_handle_t *drivers)
{
	*count = 1;
	if (drivers)
		*drivers = (ze_driver_handle_t)&handles[0];
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGet(ze_driver_handle_t driver, uint32_t *count, ze_device_handle_t *devices)
{
	(void)driver;
	*count = 1;
	if (devices)
		*devices = (ze_device_handle_t)&handles[1];
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetProperties(ze_device_handle_t device, ze_device_properties_t *p)
{
	(void)device;
	p->vendorId = 0x8086;
	p->timerResolution = p->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2
				     ? 1000000000 / TICK_NS
				     : TICK_NS;
	p->timestampValidBits = DEVICE_BITS;
	p->kernelTimestampValidBits = KERNEL_BITS;
	snprintf(p->name, sizeof(p->name), "Mock GPU");
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetGlobalTimestamps(ze_device_handle_t device, uint64_t *host, uint64_t *ticks)
{
	(void)device;
	*host = now();
	*ticks = ticks_at(*host) & ((1ull << DEVICE_BITS) - 1);
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextCreate(ze_driver_handle_t driver, const ze_context_desc_t *desc,
			    ze_context_handle_t *context)
{
	(void)driver, (void)desc;
	*context = (ze_context_handle_t)&handles[2];
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextDestroy(ze_context_handle_t context)
{
	(void)context;
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device,
			   const ze_module_desc_t *desc, ze_module_handle_t *module,
			   ze_module_build_log_handle_t *log)
{
	(void)context, (void)device, (void)desc, (void)log;
	*module = (ze_module_handle_t)&handles[3];
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeModuleDestroy(ze_module_handle_t module)
{
	(void)module;
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelCreate(ze_module_handle_t module, const ze_kernel_desc_t *desc,
			   ze_kernel_handle_t *kernel)
{
	struct kernel *k = calloc(1, sizeof(*k));

	(void)module;
	snprintf(k->name, sizeof(k->name), "%s", desc->pKernelName);
	*kernel = (ze_kernel_handle_t)k;
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelGetName(ze_kernel_handle_t kernel, size_t *size, char *name)
{
	const struct kernel *k = (const struct kernel *)kernel;

	*size = strlen(k->name) + 1;
	if (name)
		memcpy(name, k->name, *size);
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandQueueCreate(ze_context_handle_t context, ze_device_handle_t device,
				 const ze_command_queue_desc_t *desc,
				 ze_command_queue_handle_t *queue)
{
	(void)context, (void)device, (void)desc;
	*queue = calloc(1, 1);
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandQueueSynchronize(ze_command_queue_handle_t queue, uint64_t timeout)
{
	(void)queue, (void)timeout;
	return wait_for(free_at);
}

static ze_result_t create_list(int is_immediate, ze_command_list_handle_t *list)
{
	struct list *l = calloc(1, sizeof(*l));

	l->is_immediate = is_immediate;
	*list = (ze_command_list_handle_t)l;
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListCreate(ze_context_handle_t context, ze_device_handle_t device,
				const ze_command_list_desc_t *desc, ze_command_list_handle_t *list)
{
	(void)context, (void)device, (void)desc;
	return create_list(0, list);
}

ze_result_t zeCommandListCreateImmediate(ze_context_handle_t context, ze_device_handle_t device,
					 const ze_command_queue_desc_t *desc,
					 ze_command_list_handle_t *list)
{
	(void)context, (void)device, (void)desc;
	return create_list(1, list);
}

ze_result_t zeCommandListClose(ze_command_list_handle_t list)
{
	((struct list *)list)->is_closed = 1;
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListReset(ze_command_list_handle_t list)
{
	((struct list *)list)->is_closed = 0;
	((struct list *)list)->count = 0;
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListDestroy(ze_command_list_handle_t list)
{
	free(list);
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout);
ze_result_t zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout)
{
	(void)list, (void)timeout;
	return wait_for(free_at);
}

ze_result_t zeCommandListAppendLaunchKernel(ze_command_list_handle_t list,
					    ze_kernel_handle_t kernel,
					    const ze_group_count_t *groups, ze_event_handle_t event,
					    uint32_t count, ze_event_handle_t *events)
{
	(void)count, (void)events;
	return append(list, ((struct kernel *)kernel)->name, groups->groupCountX * 1000ull, event);
}

ze_result_t zeCommandListAppendMemoryCopy(ze_command_list_handle_t list, void *to, const void *from,
					  size_t size, ze_event_handle_t event, uint32_t count,
					  ze_event_handle_t *events)
{
	(void)to, (void)from, (void)count, (void)events;
	return append(list, "copy", size, event);
}

ze_result_t zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t queue, uint32_t count,
					      ze_command_list_handle_t *lists,
					      ze_fence_handle_t fence)
{
	(void)queue, (void)fence;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < count; i++) {
		const struct list *list = (const struct list *)lists[i];
		for (size_t k = 0; k < list->count; k++)
			carry_out(&list->work[k]);
	}
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventPoolCreate(ze_context_handle_t context, const ze_event_pool_desc_t *desc,
			      uint32_t count, ze_device_handle_t *devices,
			      ze_event_pool_handle_t *pool)
{
	struct pool *p = calloc(1, sizeof(*p));

	(void)context, (void)count, (void)devices;
	p->flags = desc->flags;
	*pool = (ze_event_pool_handle_t)p;
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventPoolDestroy(ze_event_pool_handle_t pool)
{
	free(pool);
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventCreate(ze_event_pool_handle_t pool, const ze_event_desc_t *desc,
			  ze_event_handle_t *event)
{
	struct event *e = calloc(1, sizeof(*e));

	(void)desc;
	e->pool = (struct pool *)pool;
	*event = (ze_event_handle_t)e;
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventDestroy(ze_event_handle_t event)
{
	free(event);
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventHostReset(ze_event_handle_t event)
{
	pthread_mutex_lock(&lock);
	((struct event *)event)->end = 0;
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventQueryStatus(ze_event_handle_t event)
{
	uint64_t end;

	pthread_mutex_lock(&lock);
	end = ((struct event *)event)->end;
	pthread_mutex_unlock(&lock);
	return end && end <= now() ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

ze_result_t zeEventHostSynchronize(ze_event_handle_t event, uint64_t timeout)
{
	(void)timeout;
	return wait_for(((struct event *)event)->end);
}

ze_result_t zeEventQueryKernelTimestamp(ze_event_handle_t event, ze_kernel_timestamp_result_t *t)
{
	const struct event *e = (const struct event *)event;
	const uint64_t mask = (1ull << KERNEL_BITS) - 1;

	if (!(e->pool->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	t->global.kernelStart = t->context.kernelStart = ticks_at(e->start) & mask;
	t->global.kernelEnd = t->context.kernelEnd = ticks_at(e->end) & mask;
	return ZE_RESULT_SUCCESS;
}
