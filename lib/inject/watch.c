/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/watch.h"

#include "inject/batch.h"
#include "inject/channel.h"
#include "inject/thread.h"

#include <dlfcn.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <time.h>

#define LOOK_NS 100000000
/* How long it stays for a recorder that put it there, and after the last one: whoever was about to call us has done so. */
#define STAY_LOOKS  100
#define LEAVE_LOOKS 20
/* Nothing on this thread needs more; the C library keeps the memory for the next. */
#define STACK_BYTES (64u << 10)

/* The kernel adds to it when a probe is put on one of the functions, in this very process. Its place must be writable
 * and private, which SystemTap's section is by convention. */
EXPORT volatile uint16_t CHANNEL_NAME(listeners) __attribute__((section(".probes")));

static const struct watch *watched;
static uint32_t session = 1;
static bool is_running;
static void *own_handle; /* of a library that is to leave */
static uint32_t stay;    /* looks that it stays at least */
static uint32_t inside;  /* threads */

bool watch_is_heard(void)
{
	return CHANNEL_NAME(listeners) != 0;
}

uint32_t watch_session(void)
{
	return __atomic_load_n(&session, __ATOMIC_ACQUIRE);
}

void watch_enter(void)
{
	__atomic_add_fetch(&inside, 1, __ATOMIC_ACQ_REL);
}

void watch_leave(void)
{
	__atomic_sub_fetch(&inside, 1, __ATOMIC_ACQ_REL);
}

static void look(void)
{
	static uint16_t before;      /* listeners */
	static bool is_first = true; /* the session that it begins with is that of the first */
	uint16_t now = CHANNEL_NAME(listeners);

	/* One more knows nothing of what the others were told: all of them hear it again. */
	if (now > before && !is_first) {
		if (before)
			batch_send();
		batch_forget_names();
		__atomic_add_fetch(&session, 1, __ATOMIC_RELEASE);
	}
	if (now && watched->heard)
		watched->heard();
	if (!now && before && watched->silent)
		watched->silent();
	is_first = is_first && !now;
	before = now;
}

/* Look until it is time to leave, which for a library that came with the program is never. */
__attribute__((noinline)) static void keep_looking(void)
{
	const struct timespec pause = { 0, LOOK_NS };
	uint32_t silent = 0;

	prctl(PR_SET_NAME, "accel-prof");
	for (;;) {
		look();
		silent++;
		if (watch_is_heard()) {
			silent = 0;
			__atomic_store_n(&stay, 0, __ATOMIC_RELEASE);
		}
		if (own_handle && silent > LEAVE_LOOKS &&
		    __atomic_load_n(&inside, __ATOMIC_ACQUIRE) == 0 &&
		    silent > __atomic_load_n(&stay, __ATOMIC_ACQUIRE))
			return;
		nanosleep(&pause, NULL);
	}
}

/* The last thing that it does in here is a jump: the library is gone when dlclose() returns. */
static void *run(void *data)
{
	void *(*volatile leave)(void *) = (void *(*)(void *))(void *)dlclose;
	void *self;

	(void)data;
	keep_looking();
	self = own_handle;
	return leave(self);
}

void watch_start(const struct watch *watch)
{
	if (__atomic_load_n(&is_running, __ATOMIC_ACQUIRE) ||
	    __atomic_exchange_n(&is_running, true, __ATOMIC_ACQ_REL))
		return;
	watched = watch;
	if (!thread_start(run, STACK_BYTES))
		batch_status(INJECT_STATUS_SAMPLES, "no thread could be started in the program");
}

int watch_start_inserted(const struct watch *watch, void *self)
{
	if (self)
		own_handle = self;
	__atomic_store_n(&stay, STAY_LOOKS, __ATOMIC_RELEASE);
	watch_start(watch);
	return 1;
}
