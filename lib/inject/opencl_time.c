/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/opencl_time.h"

#include "inject/batch.h"
#include "inject/channel.h"
#include "inject/known.h"
#include "inject/opencl_calls.h"
#include "inject/timing.h"
#include "inject/watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAIRS_MAX 32 /* of a queue's properties; there are some five keys */
/* Pieces of work that are not complete. Programs mostly keep some hundred ahead of the device; what is more has no times,
 * which is counted. */
#define CALLS_MAX   65536
#define DEVICES_MAX 16
/* Times wait until they are known so well, or that old: the first call may compile for seconds. */
#define DOUBT_NS 20000
#define HOLD_NS  2000000000u
/* How long the program waits at its end for what is complete to be told, at most. */
#define EXIT_NS 1000000000

/* What was made of a queue's properties, in its slot's owner; the program asked for none of it. */
enum forced {
	FORCED_NOT,
	FORCED_BIT,   /* in a value that was there */
	FORCED_PAIR,  /* a key and a value at the front */
	FORCED_PAIRS, /* where there were no pairs at all */
};

struct call {
	void *queue, *own;
	uint64_t begin_ns, end_ns; /* of the call itself */
	uint32_t thread, kind;
	uint32_t device;      /* index of devices */
	uint64_t start, stop; /* by the device's clock */
	struct call *next;    /* in free_calls or done_calls */
};

struct device {
	void *handle;
	struct timing_tie tie;
};

static struct call calls[CALLS_MAX];
static struct call *free_calls, *done_calls;
static struct device devices[DEVICES_MAX];
static uint32_t device_count;
static size_t used_calls;
static uint32_t pending;
static uint64_t dropped;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t registered = PTHREAD_ONCE_INIT;
static struct known queues;

bool opencl_time_is_wanted(void)
{
	return timing_is_wanted();
}

/* ---- queues ---- */

static void put_queue(void *queue, enum forced forced)
{
	struct known_slot *slot;

	if (!queue)
		return;
	pthread_mutex_lock(&lock);
	slot = known_find(&queues, queue);
	/* One that is forgotten has no more to be said of it than one that never was there. */
	if (slot || forced)
		slot = known_add(&queues, queue, (void *)(uintptr_t)forced);
	pthread_mutex_unlock(&lock);
}

static enum forced forced_on(void *queue)
{
	struct known_slot *slot = queues.count ? known_find(&queues, queue) : NULL;

	return slot ? (enum forced)(uintptr_t)slot->owner : FORCED_NOT;
}

void *our_clCreateCommandQueue(void *context, void *device, uint64_t properties, cl_result *error)
{
	bool is_forced = timing_is_wanted() && !(properties & CL_QUEUE_PROFILING);
	void *queue = REAL(clCreateCommandQueue)(
		context, device, properties | (is_forced ? CL_QUEUE_PROFILING : 0), error);

	if (!queue && is_forced)
		return REAL(clCreateCommandQueue)(context, device, properties, error);
	put_queue(queue, is_forced ? FORCED_BIT : FORCED_NOT);
	return queue;
}

/* The same with profiling; FORCED_NOT: it has that, or there are too many. */
static enum forced with_profiling(const uint64_t *properties, uint64_t ours[2 * PAIRS_MAX + 3])
{
	enum forced forced = properties ? FORCED_PAIR : FORCED_PAIRS;
	size_t at = 2, pairs = 0;

	ours[0] = CL_QUEUE_PROPERTIES_KEY;
	ours[1] = CL_QUEUE_PROFILING;
	for (; properties && properties[0]; properties += 2, at += 2) {
		if (++pairs > PAIRS_MAX)
			return FORCED_NOT;
		ours[at] = properties[0];
		ours[at + 1] = properties[1];
		if (properties[0] != CL_QUEUE_PROPERTIES_KEY)
			continue;
		if (properties[1] & CL_QUEUE_PROFILING)
			return FORCED_NOT;
		ours[at + 1] |= CL_QUEUE_PROFILING;
		forced = FORCED_BIT;
	}
	ours[at] = 0;
	/* Without the pair at the front. */
	if (forced == FORCED_BIT)
		memmove(ours, ours + 2, (at - 1) * sizeof(*ours));
	return forced;
}

void *our_clCreateCommandQueueWithProperties(void *context, void *device,
					     const uint64_t *properties, cl_result *error)
{
	uint64_t ours[2 * PAIRS_MAX + 3];
	enum forced forced = timing_is_wanted() ? with_profiling(properties, ours) : FORCED_NOT;
	void *queue = REAL(clCreateCommandQueueWithProperties)(context, device,
							       forced ? ours : properties, error);

	if (!queue && forced)
		return REAL(clCreateCommandQueueWithProperties)(context, device, properties, error);
	put_queue(queue, forced);
	return queue;
}

/* The pairs that the program gave: those of the queue without ours. */
static cl_result answer_pairs(void *queue, enum forced forced, size_t room, void *value,
			      size_t *size)
{
	uint64_t pairs[2 * PAIRS_MAX + 3];
	size_t bytes = 0, skip = forced == FORCED_PAIR ? 2 : 0;
	cl_result rc =
		REAL(clGetCommandQueueInfo)(queue, CL_QUEUE_PAIRS, sizeof(pairs), pairs, &bytes);

	if (rc != CL_OK)
		return rc;
	if (forced == FORCED_PAIRS)
		bytes = 0;
	else
		bytes -= skip * sizeof(*pairs);
	for (size_t i = 0; forced == FORCED_BIT && i + 1 < bytes / sizeof(*pairs); i += 2)
		if (pairs[i] == CL_QUEUE_PROPERTIES_KEY)
			pairs[i + 1] &= ~CL_QUEUE_PROFILING;
	if (value && room < bytes)
		return CL_WRONG_VALUE;
	if (value)
		memcpy(value, pairs + skip, bytes);
	if (size)
		*size = bytes;
	return CL_OK;
}

cl_result our_clGetCommandQueueInfo(void *queue, cl_number what, size_t room, void *value,
				    size_t *size)
{
	enum forced forced = forced_on(queue);
	uint64_t bits;
	cl_result rc;

	if (forced && what == CL_QUEUE_PAIRS)
		return answer_pairs(queue, forced, room, value, size);
	rc = REAL(clGetCommandQueueInfo)(queue, what, room, value, size);
	if (rc == CL_OK && forced && what == CL_QUEUE_PROPERTIES_KEY && value) {
		memcpy(&bits, value, sizeof(bits));
		bits &= ~CL_QUEUE_PROFILING;
		memcpy(value, &bits, sizeof(bits));
	}
	return rc;
}

cl_result our_clGetEventProfilingInfo(void *event, cl_number what, size_t room, void *value,
				      size_t *size)
{
	void *queue = NULL;

	if (queues.count &&
	    REAL(clGetEventInfo)(event, CL_EVENT_QUEUE, sizeof(queue), &queue, NULL) == CL_OK &&
	    forced_on(queue))
		return CL_NOT_PROFILED;
	return REAL(clGetEventProfilingInfo)(event, what, room, value, size);
}

/* ---- work ---- */

static struct call *take_call(void)
{
	struct call *call;

	pthread_mutex_lock(&lock);
	call = free_calls;
	if (call)
		free_calls = call->next;
	else if (used_calls < CALLS_MAX)
		call = &calls[used_calls++];
	dropped += !call;
	pending += call != NULL;
	pthread_mutex_unlock(&lock);
	return call;
}

static void give_back(struct call *call)
{
	pthread_mutex_lock(&lock);
	call->next = free_calls;
	free_calls = call;
	pending--;
	pthread_mutex_unlock(&lock);
}

static uint64_t time_of(void *event, cl_number what)
{
	uint64_t ns = 0;

	return REAL(clGetEventProfilingInfo)(event, what, sizeof(ns), &ns, NULL) == CL_OK ? ns : 0;
}

/* With the lock. The clock of the queue's device; those beyond share one, which is then of no use. */
static uint32_t device_of(void *queue)
{
	void *handle = NULL;
	uint32_t i = 0;

	REAL(clGetCommandQueueInfo)(queue, CL_QUEUE_DEVICE_KEY, sizeof(handle), &handle, NULL);
	while (i < device_count && devices[i].handle != handle)
		i++;
	if (i == DEVICES_MAX)
		return i - 1;
	devices[i].handle = handle;
	device_count += i == device_count;
	return i;
}

/* By a thread of the driver's. A command that failed has no times. */
static void on_complete(void *event, cl_result status, void *data)
{
	struct call *call = data;
	uint64_t queued = time_of(event, CL_TIME_QUEUED);

	call->start = time_of(event, CL_TIME_START);
	call->stop = time_of(event, CL_TIME_END);
	if (call->own)
		REAL(clReleaseEvent)(call->own);
	if (status < 0 || !queued || !call->start || call->stop < call->start) {
		give_back(call);
	} else {
		pthread_mutex_lock(&lock);
		call->device = device_of(call->queue);
		/* Its command was queued within the call. */
		timing_tie(&devices[call->device].tie, call->begin_ns, call->end_ns, queued);
		call->next = done_calls;
		done_calls = call;
		pending--;
		pthread_mutex_unlock(&lock);
	}
	watch_leave();
}

/* With the lock. Those that can be told, all with @is_last, by what is known of the device's clock by now. */
static struct call *take_done(bool is_last)
{
	struct call *done = NULL, **from = &done_calls, *call;
	uint64_t now = timing_now();

	while ((call = *from)) {
		const struct timing_tie *tie = &devices[call->device].tie;
		if (!is_last && timing_doubt(tie) > DOUBT_NS && call->end_ns + HOLD_NS > now) {
			from = &call->next;
			continue;
		}
		*from = call->next;
		call->start += (uint64_t)timing_offset(tie);
		call->stop += (uint64_t)timing_offset(tie);
		call->next = done;
		done = call;
	}
	return done;
}

static void tell_done(bool is_last)
{
	struct call *done, *next;

	pthread_mutex_lock(&lock);
	done = take_done(is_last);
	pthread_mutex_unlock(&lock);
	for (struct call *call = done; call; call = next) {
		next = call->next;
		batch_time(&(struct inject_time){
			.handle = (uintptr_t)call->queue,
			.call_ns = call->end_ns,
			.thread = call->thread,
			.kind = call->kind,
			.start_ns = call->start,
			.end_ns = call->stop,
		});
		pthread_mutex_lock(&lock);
		call->next = free_calls;
		free_calls = call;
		pthread_mutex_unlock(&lock);
	}
}

static void send(bool is_last)
{
	uint64_t lost;

	tell_done(is_last);
	pthread_mutex_lock(&lock);
	lost = dropped;
	dropped = 0;
	pthread_mutex_unlock(&lock);
	if (lost)
		batch_dropped(lost, 0);
	batch_send();
}

void opencl_time_look(void)
{
	send(false);
}

static void flush_at_exit(void)
{
	const struct timespec pause = { 0, EXIT_NS / 100 };

	for (int i = 0;
	     i < 100 && timing_is_wanted() && __atomic_load_n(&pending, __ATOMIC_ACQUIRE); i++)
		nanosleep(&pause, NULL);
	if (timing_is_wanted())
		send(true);
}

static void register_flush(void)
{
	atexit(flush_at_exit);
}

void opencl_time_begin(struct opencl_timing *t, void *queue, uint32_t kind, void **event)
{
	*t = (struct opencl_timing){
		.queue = queue,
		.event = event ? event : &t->own,
		.kind = kind,
	};
	/* Before the driver's own last words, as the driver is there already. */
	pthread_once(&registered, register_flush);
	timing_introduce_thread();
	t->begin_ns = timing_now();
}

cl_result opencl_time_end(struct opencl_timing *t, cl_result result)
{
	void *event = result == CL_OK ? *t->event : NULL;
	struct call *call = event ? take_call() : NULL;

	if (call) {
		*call = (struct call){
			.queue = t->queue,
			.own = t->own,
			.begin_ns = t->begin_ns,
			.end_ns = timing_now(),
			.thread = timing_thread(),
			.kind = t->kind,
		};
		watch_enter();
		if (REAL(clSetEventCallback)(event, CL_COMPLETE_STATUS, on_complete, call) == CL_OK)
			return result;
		watch_leave();
		give_back(call);
	}
	if (t->own)
		REAL(clReleaseEvent)(t->own);
	return result;
}
