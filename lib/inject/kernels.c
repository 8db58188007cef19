/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/kernels.h"

#include <pthread.h>

struct known kernels_known;

static pthread_once_t found = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_inserted;

void kernels_lock(void)
{
	pthread_mutex_lock(&lock);
}

void kernels_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static void find(void)
{
	pthread_once(&found, kernels_source.find);
}

void kernels_enter(void)
{
	watch_enter();
	find();
}

/* With the lock. */
static void tell(void *kernel, struct known_slot *slot)
{
	if (slot)
		slot->session = watch_session();
	kernels_source.tell(kernel, slot ? slot->owner : NULL);
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
	kernels_lock();
	while ((slot = known_untold(&kernels_known, watch_session(), &at)))
		tell(slot->handle, slot);
	kernels_unlock();
}

static void lead(void)
{
	find();
	tell_all();
	if (is_inserted)
		hook_lead(kernels_source.hooks, kernels_source.led, kernels_source.except);
	kernels_source.look();
}

static void release(void)
{
	if (is_inserted)
		hook_release(kernels_source.hooks, kernels_source.led);
}

static const struct watch watch = { lead, release };

void kernels_made(void *kernel, void *owner)
{
	struct known_slot *slot;

	watch_start(&watch);
	kernels_lock();
	slot = known_add(&kernels_known, kernel, owner);
	if (watch_is_heard() && slot)
		tell(kernel, slot);
	else if (watch_is_heard())
		kernels_source.tell(kernel, owner);
	kernels_unlock();
}

void kernels_tell(void *kernel)
{
	struct known_slot *slot;

	if (kernels_known.count >= KNOWN_SLOTS / 2)
		return;
	kernels_enter();
	kernels_lock();
	slot = known_find(&kernels_known, kernel);
	if (!slot)
		slot = known_add(&kernels_known, kernel, NULL);
	if (slot && watch_is_heard() && slot->session != watch_session()) {
		slot->is_live = true;
		tell(kernel, slot);
	}
	kernels_unlock();
	watch_leave();
}

void kernels_gone(void *kernel)
{
	kernels_lock();
	known_forget(&kernels_known, kernel);
	kernels_unlock();
}

bool kernels_are_all(void)
{
	return !is_inserted;
}

int kernels_start_inserted(void *self)
{
	if (self)
		is_inserted = true;
	return watch_start_inserted(&watch, self);
}
