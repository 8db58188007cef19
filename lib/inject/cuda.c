/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library inside a CUDA program: asleep until a recorder listens, then the times of device work
 * by CUPTI's activity records, and a call for each launch that ties them to where they came from.
 *
 * The driver loads it when CUDA_INJECTION64_PATH names it, and calls InitializeInjection(). All it
 * does from then on is looking at a counter, ten times a second, on a thread of its own.
 */
#include "inject/batch.h"
#include "inject/channel.h"
#include "inject/cupti.h"
#include "inject/graph.h"
#include "inject/samples.h"
#include "inject/thread.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#define LOOK_NS      100000000ull /* also how often CUPTI is asked for what it has */
#define BUFFER_BYTES (1u << 20)
/* 6,000 kernels a megabyte: a second's worth at 100,000 launches a second. */
#define BUFFERS 16

/* The kernel adds to it when a probe is put on one of the functions, in this very process. Its place
 * must be writable and private, which SystemTap's section is by convention. */
EXPORT volatile uint16_t accel_prof_cuda_listeners __attribute__((section(".probes")));
EXPORT volatile uint16_t accel_prof_cuda_samplers __attribute__((section(".probes")));

EXPORT volatile uint16_t accel_prof_cuda_serializers __attribute__((section(".probes")));

/* Never called: a probe on it asks for samples. */
EXPORT __attribute__((noinline)) void accel_prof_cuda_samples(void);
void accel_prof_cuda_samples(void)
{
	__asm__ volatile("nop");
}

/* And one on this for kernels one at a time. */
EXPORT __attribute__((noinline)) void accel_prof_cuda_serial(void);
void accel_prof_cuda_serial(void)
{
	__asm__ volatile("nop\n\tnop");
}

static struct cupti cupti;
static void *subscriber;
static unsigned char *buffers;
static bool is_lent[BUFFERS];
static pthread_mutex_t buffer_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t sample_lock = PTHREAD_MUTEX_INITIALIZER;

/* What the recorder probes; it takes the stack from here. A nop can be probed at the least cost. */
EXPORT __attribute__((noinline)) void accel_prof_cuda_launch(uint64_t correlation_kind,
							     uint64_t function, uint64_t grid_xy,
							     uint64_t grid_z_block_x,
							     uint64_t block_yz, uint64_t stream);
void accel_prof_cuda_launch(uint64_t correlation_kind, uint64_t function, uint64_t grid_xy,
			    uint64_t grid_z_block_x, uint64_t block_yz, uint64_t stream)
{
	__asm__ volatile("nop"
			 :
			 : "r"(correlation_kind), "r"(function), "r"(grid_xy), "r"(grid_z_block_x),
			   "r"(block_yz), "r"(stream));
}

/* The calls that give the device work, by CUPTI's numbers (cupti_driver_cbid.h), and where their
 * parameters hold what. */
enum shape {
	SHAPE_KERNEL, /* struct cuLaunchKernel_params_st: function, six sizes, bytes, stream */
	SHAPE_CONFIG, /* pointer to a CUlaunchConfig, function */
	SHAPE_GRAPH,
	SHAPE_COPY,
	SHAPE_FILL,
	SHAPE_CAPTURE, /* gives no work: graph_calls */
};

static const struct {
	uint16_t first, last;
	enum shape shape;
} calls[] = {
	{ 307, 307, SHAPE_KERNEL }, { 442, 442, SHAPE_KERNEL }, /* cuLaunchKernel, _ptsz */
	{ 477, 478, SHAPE_KERNEL },                             /* cuLaunchCooperativeKernel */
	{ 652, 653, SHAPE_CONFIG },                             /* cuLaunchKernelEx */
	{ 514, 515, SHAPE_GRAPH },                              /* cuGraphLaunch */
	{ 276, 293, SHAPE_COPY },   { 305, 306, SHAPE_COPY },   { 318, 321, SHAPE_COPY },
	{ 397, 410, SHAPE_COPY },   { 418, 427, SHAPE_COPY },   { 776, 779, SHAPE_COPY },
	{ 796, 799, SHAPE_COPY }, /* cuMemcpy* */
	{ 216, 226, SHAPE_FILL },   { 249, 254, SHAPE_FILL },   { 411, 416, SHAPE_FILL },
	{ 428, 433, SHAPE_FILL }, /* cuMemset* */
};

#define CALL_ID_MAX 800
static uint8_t shape_of_id[CALL_ID_MAX]; /* + 1; 0: not one of them */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t told_since_ns; /* 0: launches are not told */
static bool is_told_long;

static uint64_t age(void)
{
	uint64_t us = is_told_long ? INJECT_AGE_MAX : (now_ns() - told_since_ns) / 1000;

	if (us < INJECT_AGE_MAX)
		return us;
	is_told_long = true;
	return INJECT_AGE_MAX;
}

static void tell(const uint64_t word[GRAPH_WORDS])
{
	accel_prof_cuda_launch(word[0] | INJECT_LAUNCH(0, 0, age()), word[1], word[2], word[3],
			       word[4], word[5]);
}

static void tell_kernel(const struct cupti_call *call, const unsigned char *function,
			const unsigned char *sizes, const unsigned char *stream)
{
	uint64_t word[GRAPH_WORDS] = { INJECT_LAUNCH(call->correlation, INJECT_LAUNCH_KERNEL, 0) };

	memcpy(&word[1], function, 8);
	memcpy(&word[2], sizes, 24);
	memcpy(&word[5], stream, 8);
	graph_launch(word, tell);
}

/* Within a call of CUPTI's. Who has the lock asks CUPTI just now; if that waits for what CUPTI holds
 * while it calls us, nobody would ever go on. */
#define LOCK_NS 1000000000

/* Set by the watching thread: contexts that end and modules are of interest, too. */
static bool is_sampled;

static bool samples_are_taken(void)
{
	return __atomic_load_n(&is_sampled, __ATOMIC_ACQUIRE);
}

static bool lock_samples(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += LOCK_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return pthread_mutex_timedlock(&sample_lock, &until) == 0;
}

static void drain_within(void *ending)
{
	if (!lock_samples())
		return;
	if (samples_are_taken())
		samples_drain(&cupti, now_ns(), accel_prof_cuda_serializers != 0);
	if (ending)
		samples_forget_context(&cupti, ending);
	pthread_mutex_unlock(&sample_lock);
}

static void on_resource(uint32_t id, const void *details)
{
	const struct cupti_resource *resource = details;
	bool is_needed = samples_are_taken();

	if (id == CUPTI_CONTEXT_ENDS && is_needed)
		drain_within(resource->context);
	if (!resource->descriptor)
		return;
	if (id == CUPTI_NODE_CREATED)
		graph_node(&cupti, resource->descriptor, tell);
	if (id == CUPTI_NODE_CLONED)
		graph_node_copied(&cupti, resource->descriptor);
	if (!is_needed)
		return;
	if (id == CUPTI_MODULE_LOADED)
		samples_see_module(&cupti, resource->descriptor);
	/* Another may come to the same place, and be taken for it. */
	if (id == CUPTI_MODULE_UNLOADED)
		drain_within(NULL);
}

static void on_return(uint32_t id, const struct cupti_call *call)
{
	cupti_result result;

	if (shape_of_id[id] - 1 != SHAPE_CAPTURE) {
		graph_returned(tell);
		/* One kernel at a time has one kernel's samples at a time. */
		if (accel_prof_cuda_serializers && shape_of_id[id] - 1 <= SHAPE_CONFIG)
			drain_within(NULL);
		return;
	}
	memcpy(&result, call->result, sizeof(result));
	graph_captured(id, result);
}

static void on_call(void *data, int domain, uint32_t id, const void *details)
{
	const struct cupti_call *call = details;
	const unsigned char *parameters = call->parameters, *config;
	uint64_t kind = INJECT_LAUNCH_COPY;

	(void)data;
	if (domain == CUPTI_DOMAIN_RESOURCE) {
		on_resource(id, details);
		return;
	}
	if (domain != CUPTI_DOMAIN_DRIVER || id >= CALL_ID_MAX || !shape_of_id[id] ||
	    !accel_prof_cuda_listeners || !__atomic_load_n(&told_since_ns, __ATOMIC_ACQUIRE))
		return;
	if (call->site != CUPTI_SITE_ENTER) {
		on_return(id, call);
		return;
	}
	if (accel_prof_cuda_samplers && call->context)
		samples_see_context(call->context);
	switch ((enum shape)(shape_of_id[id] - 1)) {
	case SHAPE_KERNEL:
		tell_kernel(call, parameters, parameters + 8, parameters + 40);
		return;
	case SHAPE_CONFIG:
		memcpy(&config, parameters, sizeof(config));
		tell_kernel(call, parameters + 8, config, config + 32);
		return;
	case SHAPE_GRAPH:
		kind = INJECT_LAUNCH_GRAPH;
		break;
	case SHAPE_FILL:
		kind = INJECT_LAUNCH_FILL;
		break;
	case SHAPE_COPY:
		break;
	case SHAPE_CAPTURE:
		return;
	}
	const uint64_t word[GRAPH_WORDS] = { INJECT_LAUNCH(call->correlation, kind, 0) };
	graph_launch(word, tell);
}

static void on_buffer_wanted(uint8_t **buffer, size_t *size, size_t *records)
{
	*buffer = NULL;
	*size = 0; /* none left: CUPTI counts what it drops */
	*records = 0;
	pthread_mutex_lock(&buffer_lock);
	for (size_t i = 0; i < BUFFERS && !*size; i++) {
		if (is_lent[i])
			continue;
		is_lent[i] = true;
		*buffer = buffers + i * BUFFER_BYTES;
		*size = BUFFER_BYTES;
	}
	pthread_mutex_unlock(&buffer_lock);
}

static void take_kernel(const struct cupti_kernel *k)
{
	batch_work(&(struct inject_work){
		.kind = INJECT_LAUNCH_KERNEL,
		.correlation = k->correlation,
		.device = k->device,
		.stream = k->stream,
		.start_ns = k->start,
		.end_ns = k->end,
		.node = k->node,
		.name = batch_name(k->name),
	});
}

static void take_transfer(const struct cupti_transfer *t, uint32_t kind)
{
	batch_work(&(struct inject_work){
		.kind = kind,
		.correlation = t->correlation,
		.device = t->device,
		.stream = t->stream,
		.start_ns = t->start,
		.end_ns = t->end,
		.bytes = t->bytes,
		.detail = kind == INJECT_LAUNCH_COPY ? t->copy_kind : 0,
		.node = t->node,
	});
}

/* It begins alike. */
static void take_peer(const struct cupti_transfer_peer *peer)
{
	struct cupti_transfer t;

	memcpy(&t, peer, offsetof(struct cupti_transfer, correlation));
	t.correlation = peer->correlation;
	t.node = peer->node;
	take_transfer(&t, INJECT_LAUNCH_COPY);
}

static void take_record(const uint8_t *record)
{
	const struct cupti_transfer *transfer = (const void *)record;
	uint32_t kind;

	memcpy(&kind, record, sizeof(kind));
	switch (kind) {
	case CUPTI_KIND_CONCURRENT_KERNEL:
		take_kernel((const void *)record);
		break;
	case CUPTI_KIND_MEMCPY:
		take_transfer(transfer, INJECT_LAUNCH_COPY);
		break;
	case CUPTI_KIND_MEMSET:
		take_transfer(transfer, INJECT_LAUNCH_FILL);
		break;
	case CUPTI_KIND_MEMCPY_PEER:
		take_peer((const void *)record);
		break;
	default:
		break;
	}
}

static void on_buffer_done(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			   size_t valid)
{
	const uint8_t *record = NULL;
	size_t dropped = 0;

	(void)size;
	while (accel_prof_cuda_listeners && cupti.next(buffer, valid, &record) == CUPTI_OK)
		take_record(record);
	if (cupti.dropped(context, stream, &dropped) == CUPTI_OK && dropped)
		batch_dropped(dropped, 0);
	batch_send();
	pthread_mutex_lock(&buffer_lock);
	is_lent[(size_t)(buffer - buffers) / BUFFER_BYTES] = false;
	pthread_mutex_unlock(&buffer_lock);
}

static const int kinds[] = { CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_KIND_MEMCPY, CUPTI_KIND_MEMSET,
			     CUPTI_KIND_MEMCPY_PEER };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void enable_calls(uint32_t enable)
{
	for (uint32_t id = 0; id < CALL_ID_MAX; id++)
		if (shape_of_id[id])
			cupti.enable_callback(enable, subscriber, CUPTI_DOMAIN_DRIVER, id);
	cupti.enable_callback(enable, subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_NODE_CREATED);
	cupti.enable_callback(enable, subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_NODE_CLONED);
}

static void want_samples(bool is_wanted)
{
	const uint32_t enable = is_wanted;

	if (is_wanted == is_sampled)
		return;
	__atomic_store_n(&is_sampled, is_wanted, __ATOMIC_RELEASE);
	if (!is_wanted) {
		pthread_mutex_lock(&sample_lock);
		samples_end(&cupti);
		pthread_mutex_unlock(&sample_lock);
	}
	cupti.enable_callback(enable, subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_CONTEXT_ENDS);
	cupti.enable_callback(enable, subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_MODULE_LOADED);
	cupti.enable_callback(enable, subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_MODULE_UNLOADED);
}

/* Ask what each device is called, because the recorder sees the answer. */
static void show_devices(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*count_devices)(int *), (*name_of)(char *, int, int), count = 0;
	char name[256];

	if (!driver)
		return;
	*(void **)&count_devices = dlsym(driver, "cuDeviceGetCount");
	*(void **)&name_of = dlsym(driver, "cuDeviceGetName");
	if (count_devices && name_of && count_devices(&count) == 0)
		for (int i = 0; i < count; i++)
			name_of(name, sizeof(name), i);
	dlclose(driver);
}

static bool begin(void)
{
	cupti_result rc;
	char why[128];

	batch_forget_names();
	if (!cupti.next && cupti_load(&cupti, why, sizeof(why)) < 0) {
		batch_status(INJECT_STATUS_TIME, "%s", why);
		return false;
	}
	if (!buffers) {
		buffers = mmap(NULL, BUFFERS * BUFFER_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (buffers == MAP_FAILED) {
			buffers = NULL;
			return false;
		}
	}
	rc = cupti.subscribe(&subscriber, on_call, NULL);
	if (rc != CUPTI_OK) {
		batch_status(INJECT_STATUS_TIME,
			     rc == CUPTI_MULTIPLE_SUBSCRIBERS
				     ? "another tool in the process uses CUPTI: %s"
				     : "CUPTI refuses: %s",
			     cupti_error(&cupti, rc));
		return false;
	}
	show_devices();
	cupti.use_clock(now_ns);
	cupti.use_buffers(on_buffer_wanted, on_buffer_done);
	enable_calls(1);
	is_told_long = false;
	__atomic_store_n(&told_since_ns, now_ns(), __ATOMIC_RELEASE);
	for (size_t i = 0; i < COUNT(kinds); i++) {
		rc = cupti.enable(kinds[i]);
		if (rc != CUPTI_OK)
			batch_status(INJECT_STATUS_TIME, "CUPTI gives no times: %s",
				     cupti_error(&cupti, rc));
	}
	return true;
}

static void end(void)
{
	for (size_t i = 0; i < COUNT(kinds); i++)
		cupti.disable(kinds[i]);
	__atomic_store_n(&told_since_ns, 0, __ATOMIC_RELEASE);
	enable_calls(0);
	want_samples(false);
	cupti.flush(1);
	cupti.unsubscribe(subscriber);
	subscriber = NULL;
}

static bool is_on; /* the watching thread's, once that runs */

/* Begin or end as the counter says, and begin anew for one who comes when another listens already. */
static void look(void)
{
	static uint16_t before;
	uint16_t now = accel_prof_cuda_listeners;

	if (now > before && is_on) {
		batch_send();
		/* Samples begin anew, with the names of all there is to them. */
		want_samples(false);
		batch_forget_names();
		show_devices();
	} else if (now > before) {
		is_on = begin();
	} else if (!now && is_on) {
		end();
		is_on = false;
	}
	before = now;
	if (is_on)
		want_samples(accel_prof_cuda_samplers != 0);
}

static void take(uint32_t all)
{
	cupti.flush(all);
	if (is_sampled) {
		pthread_mutex_lock(&sample_lock);
		samples_drain(&cupti, now_ns(), accel_prof_cuda_serializers != 0);
		pthread_mutex_unlock(&sample_lock);
	}
	batch_send();
}

static void *watch(void *data)
{
	const struct timespec pause = { 0, LOOK_NS };

	prctl(PR_SET_NAME, "accel-prof");
	for (;;) {
		nanosleep(&pause, NULL);
		look();
		if (is_on)
			take(0);
	}
	return data;
}

/* What is left when the program ends, before the driver does. */
static void flush_at_exit(void)
{
	if (subscriber && accel_prof_cuda_listeners)
		take(1);
}

EXPORT int InitializeInjection(void);
int InitializeInjection(void)
{
	static bool was_called;

	if (__atomic_exchange_n(&was_called, true, __ATOMIC_SEQ_CST))
		return 1;
	for (size_t i = 0; i < COUNT(calls); i++)
		for (uint32_t id = calls[i].first; id <= calls[i].last; id++)
			shape_of_id[id] = (uint8_t)(calls[i].shape + 1);
	for (const uint16_t *id = graph_calls; *id; id++)
		shape_of_id[*id] = SHAPE_CAPTURE + 1;
	/* One who listens already is told of the first launch. */
	look();
	atexit(flush_at_exit);
	return thread_start(watch, 0);
}
