/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/ze_time.h"

#include "inject/batch.h"
#include "inject/kernels.h"
#include "inject/timing.h"
#include "inject/ze_calls.h"
#include "inject/ze_clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Work whose times are awaited, or that stands in lists: a second's worth at 100,000 launches a second would need as many
 * events, which drivers keep in the GPU's memory. */
#define WORK_MAX    16384
#define POOL_EVENTS 1024
#define POOLS_MAX   (WORK_MAX / POOL_EVENTS)

/* A piece of work and its event. */
struct work {
	void *event, *list, *context; /* context: of an event of ours; NULL: it is the program's */
	uint32_t kind, device;        /* device: of ze_clock_of() */
	bool is_used, is_immediate;
	bool is_running;  /* it was given to the device, and its times have not been read */
	bool is_told;     /* and nothing more will come: free when what is told has been sent */
	uint64_t last[2]; /* times that were read before: events of programs can still have them */
};

struct pool {
	void *handle, *context;
	uint32_t used; /* events that were made of it */
};

struct list {
	void *context;
	uint32_t device;
	bool is_immediate;
};

static struct work all[WORK_MAX];
static uint32_t used_work; /* those from here on were never used */
static uint32_t free_work[WORK_MAX], free_count;
static uint32_t running;
static struct known events; /* of programs; owners are their work */
static struct pool pools[POOLS_MAX];
static uint64_t dropped;
static struct known lists; /* owners are struct list, which are kept: handles come again */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t registered = PTHREAD_ONCE_INIT;
static bool is_over; /* the program ends, and the driver's own end may have begun */

static bool is_wanted(void)
{
	return timing_is_wanted() && !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE);
}

/* ---- times ---- */

static void set_running(struct work *w, bool is_running)
{
	running = running - w->is_running + is_running;
	w->is_running = is_running;
}

/* With the lock. Its times, if there are: then they are told. */
static bool read_times(struct work *w)
{
	struct ze_timestamps t;
	uint64_t start;

	if (REAL(zeEventQueryStatus)(w->event) != ZE_OK ||
	    REAL(zeEventQueryKernelTimestamp)(w->event, &t) != ZE_OK)
		return false;
	/* Not reset since it was read. */
	if (!w->context && w->last[0] == t.start && w->last[1] == t.end)
		return false;
	w->last[0] = t.start;
	w->last[1] = t.end;
	start = ze_clock_time(w->device, t.start);
	batch_time(&(struct inject_time){
		.handle = (uintptr_t)w->event,
		.kind = w->kind,
		.start_ns = start,
		.end_ns = start + ze_clock_span(w->device, t.start, t.end),
	});
	set_running(w, false);
	if (w->context)
		REAL(zeEventHostReset)(w->event);
	w->is_told = w->is_immediate;
	return true;
}

static void free_one(struct work *w)
{
	set_running(w, false);
	if (!w->context)
		known_forget(&events, w->event);
	w->is_used = w->is_told = false;
	free_work[free_count++] = (uint32_t)(w - all);
}

static void send(void)
{
	if (dropped)
		batch_dropped(dropped, 0);
	dropped = 0;
	batch_send();
}

/* With the lock: of work on @list, or NULL: of all. It is known when it returns, */
static void read_all(void *list)
{
	bool is_tied[ZE_CLOCKS_MAX] = { false }, is_any = dropped != 0;

	for (uint32_t i = 0; running && i < used_work; i++) {
		struct work *w = &all[i];
		if (!w->is_used || !w->is_running || (list && w->list != list))
			continue;
		if (!is_tied[w->device])
			is_tied[w->device] = ze_clock_look(w->device);
		is_any |= is_tied[w->device] && read_times(w);
	}
	/* before another launch can be given one of the events. */
	if (is_any)
		send();
	for (uint32_t i = 0; is_any && i < used_work; i++)
		if (all[i].is_used && all[i].is_told)
			free_one(&all[i]);
}

/* The same of one event of the program's. */
static struct work *read_event(void *event)
{
	struct known_slot *slot = known_find(&events, event);
	struct work *w = slot ? slot->owner : NULL;

	if (w && w->is_running && ze_clock_look(w->device) && read_times(w))
		send();
	return w;
}

void ze_time_look(void)
{
	pthread_mutex_lock(&lock);
	if (is_wanted())
		read_all(NULL);
	pthread_mutex_unlock(&lock);
}

/* Registered when the driver is there, and so before its own last words. */
static void look_at_exit(void)
{
	ze_time_look();
	pthread_mutex_lock(&lock);
	__atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

static void register_look(void)
{
	atexit(look_at_exit);
}

/* ---- work ---- */

/* With the lock; NULL: none can be had. */
static void *make_event(void *context)
{
	const struct ze_pool_desc pool_desc = { .type = ZE_TYPE_POOL,
						.flags = ZE_POOL_VISIBLE | ZE_POOL_TIMES,
						.count = POOL_EVENTS };
	struct ze_event_desc desc = { .type = ZE_TYPE_EVENT,
				      .signal = ZE_SCOPE_HOST,
				      .wait = ZE_SCOPE_HOST };
	struct pool *p = pools;
	void *event = NULL;

	while (p < pools + POOLS_MAX && p->handle &&
	       (p->context != context || p->used == POOL_EVENTS))
		p++;
	if (p == pools + POOLS_MAX || !REAL(zeEventCreate))
		return NULL;
	if (!p->handle &&
	    REAL(zeEventPoolCreate)(context, &pool_desc, 0, NULL, &p->handle) != ZE_OK)
		return NULL;
	p->context = context;
	desc.index = p->used++;
	return REAL(zeEventCreate)(p->handle, &desc, &event) == ZE_OK ? event : NULL;
}

/* With the lock. A free one, with an event of ours of that context, or without one with NULL. */
static struct work *take_work(void *context)
{
	for (uint32_t i = free_count; i-- > 0;) {
		struct work *w = &all[free_work[i]];
		if (w->context != context)
			continue;
		free_work[i] = free_work[--free_count];
		return w;
	}
	if (used_work == WORK_MAX)
		return NULL;
	void *event = context ? make_event(context) : NULL;
	if (context && !event)
		return NULL;
	all[used_work] = (struct work){ .event = event, .context = context };
	return &all[used_work++];
}

static void *put_work(const struct list *l, void *list, void *event, uint32_t kind)
{
	/* The same event again: what it was given to before is over, and its times are what they are now. */
	struct work *w = event ? read_event(event) : take_work(l->context);

	if (w && event) {
		dropped += w->is_running;
		free_one(w);
	}
	if (event)
		w = take_work(NULL);
	if (!w && !event) {
		read_all(NULL);
		w = take_work(l->context);
	}
	if (!w || (event && !known_add(&events, event, w))) {
		dropped++;
		return event;
	}
	w->event = event ? event : w->event;
	w->list = list;
	w->device = l->device;
	w->kind = kind;
	w->is_used = true;
	w->is_immediate = l->is_immediate;
	set_running(w, l->is_immediate);
	w->last[0] = w->last[1] = 0;
	return w->event;
}

void *ze_time_event(void *list, void *event, uint32_t kind)
{
	struct known_slot *slot;

	if (!is_wanted())
		return event;
	pthread_once(&registered, register_look);
	pthread_mutex_lock(&lock);
	slot = known_find(&lists, list);
	if (slot && slot->owner)
		event = put_work(slot->owner, list, event, kind);
	else
		dropped++; /* of a list from before */
	pthread_mutex_unlock(&lock);
	return event;
}

/* ---- lists ---- */

static void add_list(void *context, void *device, void *list, bool is_immediate)
{
	struct known_slot *slot;
	struct list *l;

	if (!is_wanted())
		return;
	pthread_mutex_lock(&lock);
	slot = known_find(&lists, list);
	l = slot && slot->owner ? slot->owner : malloc(sizeof(*l));
	if (l) {
		*l = (struct list){ context, ze_clock_of(device), is_immediate };
		slot = l->device < ZE_CLOCKS_MAX ? known_add(&lists, list, l) : NULL;
		if (!slot)
			free(l);
	}
	pthread_mutex_unlock(&lock);
}

ze_result zeCommandListCreate(void *context, void *device, const void *desc, void **list)
{
	ze_result rc = ZE_UNINITIALIZED;

	kernels_enter();
	if (REAL(zeCommandListCreate))
		rc = REAL(zeCommandListCreate)(context, device, desc, list);
	if (rc == ZE_OK)
		add_list(context, device, *list, false);
	watch_leave();
	return rc;
}

ze_result zeCommandListCreateImmediate(void *context, void *device, const void *desc, void **list)
{
	ze_result rc = ZE_UNINITIALIZED;

	kernels_enter();
	if (REAL(zeCommandListCreateImmediate))
		rc = REAL(zeCommandListCreateImmediate)(context, device, desc, list);
	if (rc == ZE_OK)
		add_list(context, device, *list, true);
	watch_leave();
	return rc;
}

/* The last moment for what it has; work that is not complete will have no times. */
static void empty_list(void *list)
{
	pthread_mutex_lock(&lock);
	read_all(list);
	for (uint32_t i = 0; i < used_work; i++) {
		struct work *w = &all[i];
		if (!w->is_used || w->list != list)
			continue;
		dropped += w->is_running;
		if (w->is_running && w->context)
			REAL(zeEventHostReset)(w->event);
		free_one(w);
	}
	pthread_mutex_unlock(&lock);
}

ze_result zeCommandListReset(void *list)
{
	kernels_enter();
	empty_list(list);
	watch_leave();
	PASS(zeCommandListReset, list);
}

ze_result zeCommandListDestroy(void *list)
{
	struct known_slot *slot;

	kernels_enter();
	empty_list(list);
	pthread_mutex_lock(&lock);
	slot = known_find(&lists, list);
	if (slot) {
		free(slot->owner);
		known_forget(&lists, list);
	}
	pthread_mutex_unlock(&lock);
	watch_leave();
	PASS(zeCommandListDestroy, list);
}

/* All of a list's work will be done, and its events say so anew. */
static void execute(void *list)
{
	read_all(list);
	for (uint32_t i = 0; i < used_work; i++) {
		struct work *w = &all[i];
		if (!w->is_used || w->is_immediate || w->list != list)
			continue;
		dropped += w->is_running;
		set_running(w, true);
	}
}

static void execute_all(uint32_t count, void **executed)
{
	if (!is_wanted())
		return;
	kernels_enter();
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; executed && i < count; i++)
		execute(executed[i]);
	pthread_mutex_unlock(&lock);
	watch_leave();
}

ze_result zeCommandQueueExecuteCommandLists(void *queue, uint32_t count, void **executed,
					    void *fence)
{
	execute_all(count, executed);
	PASS(zeCommandQueueExecuteCommandLists, queue, count, executed, fence);
}

ze_result zeCommandListImmediateAppendCommandListsExp(void *list, uint32_t list_count,
						      void **executed, void *event, uint32_t count,
						      void **events)
{
	execute_all(list_count, executed);
	PASS(zeCommandListImmediateAppendCommandListsExp, list, list_count, executed, event, count,
	     events);
}

/* ---- events ---- */

/* Timestamps are also visible to the program then, if it asks for them. */
ze_result zeEventPoolCreate(void *context, const struct ze_pool_desc *desc, uint32_t count,
			    void **of, void **pool)
{
	struct ze_pool_desc ours;

	kernels_enter();
	watch_leave();
	if (!is_wanted() || !desc || !REAL(zeEventPoolCreate))
		PASS(zeEventPoolCreate, context, desc, count, of, pool);
	ours = *desc;
	/* Those for other processes are what they must be. */
	if (!(ours.flags & ZE_POOL_SHARED))
		ours.flags |= ZE_POOL_TIMES | ZE_POOL_VISIBLE;
	return REAL(zeEventPoolCreate)(context, &ours, count, of, pool);
}

static void before_event_changes(void *event)
{
	if (!is_wanted())
		return;
	kernels_enter();
	pthread_mutex_lock(&lock);
	read_event(event);
	pthread_mutex_unlock(&lock);
	watch_leave();
}

ze_result zeEventHostReset(void *event)
{
	before_event_changes(event);
	PASS(zeEventHostReset, event);
}

ze_result zeEventDestroy(void *event)
{
	struct known_slot *slot;

	before_event_changes(event);
	pthread_mutex_lock(&lock);
	slot = events.count ? known_find(&events, event) : NULL;
	if (slot && slot->owner)
		free_one(slot->owner);
	pthread_mutex_unlock(&lock);
	PASS(zeEventDestroy, event);
}

/* Our events are gone with it, whatever they were for. */
ze_result zeContextDestroy(void *context)
{
	kernels_enter();
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < used_work; i++) {
		if (!all[i].context || all[i].context != context)
			continue;
		REAL(zeEventDestroy)(all[i].event);
		all[i].event = all[i].context = NULL;
		if (all[i].is_used)
			free_one(&all[i]);
	}
	for (struct pool *p = pools; p < pools + POOLS_MAX; p++) {
		if (!p->handle || p->context != context)
			continue;
		if (REAL(zeEventPoolDestroy))
			REAL(zeEventPoolDestroy)(p->handle);
		*p = (struct pool){ 0 };
	}
	pthread_mutex_unlock(&lock);
	watch_leave();
	PASS(zeContextDestroy, context);
}

/* ---- waits: what is over has its times, and the program may soon end ---- */

#define WAIT(name, type)                                                          \
	ze_result name(type waited, uint64_t timeout)                             \
	{                                                                         \
		ze_result rc;                                                     \
		if (!is_wanted())                                                 \
			PASS(name, waited, timeout);                              \
		kernels_enter();                                                  \
		rc = REAL(name) ? REAL(name)(waited, timeout) : ZE_UNINITIALIZED; \
		ze_time_look();                                                   \
		watch_leave();                                                    \
		return rc;                                                        \
	}

WAIT(zeCommandQueueSynchronize, void *)
WAIT(zeCommandListHostSynchronize, void *)
WAIT(zeEventHostSynchronize, void *)
WAIT(zeFenceHostSynchronize, void *)
