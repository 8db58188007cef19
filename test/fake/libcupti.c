/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mock of libcupti.so: callbacks at the mock driver's calls, and activity records of its work in
 * the shapes of CUDA 13, delivered in the buffers that it asks for. What it is told to do wrong:
 *
 *	FAKE_CUPTI_BUSY     another tool is subscribed already
 *	FAKE_CUPTI_REFUSE   activities need a privilege
 *	FAKE_CUPTI_DROP=N   each N-th record finds no room
 */
#include "hooks.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* CUpti_ActivityKernel10, CUpti_ActivityMemcpy6, CUpti_ActivityMemset4: sizes in bytes. */
#define KERNEL_BYTES 216
#define MEMCPY_BYTES 80
#define MEMSET_BYTES 64

#define IDS     1024
#define RECORDS 65536

struct record {
	unsigned char bytes[KERNEL_BYTES];
	uint32_t size;
	uint64_t end_ns;
};

typedef void callback(void *data, int domain, uint32_t id, const void *call);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static callback *subscribed;
static void *subscriber_data;
static bool is_enabled[IDS], is_active[64];
static uint64_t (*now)(void);
static void (*want_buffer)(uint8_t **, size_t *, size_t *);
static void (*buffer_done)(void *, uint32_t, uint8_t *, size_t, size_t);
static struct record *records;
static size_t record_count, dropped;

static void put(unsigned char *at, const void *value, size_t size)
{
	memcpy(at, value, size);
}

#define PUT(r, offset, value) put((r)->bytes + (offset), &(value), sizeof(value))

static void on_call(const struct fake_cuda_call *call)
{
	struct {
		uint32_t site, padding;
		const char *function;
		const void *parameters;
		void *result;
		const char *symbol;
		void *context;
		uint32_t context_id, padding2;
		uint64_t *data;
		uint32_t correlation;
	} data = { .function = call->name,
		   .parameters = call->parameters,
		   .symbol = call->symbol,
		   .correlation = call->correlation };

	if (subscribed && is_enabled[call->id])
		subscribed(subscriber_data, 1, call->id, &data);
}

static void fill_kernel(struct record *r, const struct fake_cuda_work *w)
{
	uint32_t kind = 10;

	r->size = KERNEL_BYTES;
	PUT(r, 0, kind);
	PUT(r, 16, w->start_ns);
	PUT(r, 24, w->end_ns);
	PUT(r, 40, w->device);
	PUT(r, 48, w->stream);
	PUT(r, 92, w->correlation);
	PUT(r, 104, w->name);
	PUT(r, 144, w->node);
}

static void fill_copy(struct record *r, const struct fake_cuda_work *w)
{
	uint32_t kind = w->kind == FAKE_WORK_COPY ? 1 : 2;
	uint8_t detail = (uint8_t)w->detail;

	r->size = w->kind == FAKE_WORK_COPY ? MEMCPY_BYTES : MEMSET_BYTES;
	PUT(r, 0, kind);
	PUT(r, 4, detail);
	PUT(r, 8, w->bytes);
	PUT(r, 16, w->start_ns);
	PUT(r, 24, w->end_ns);
	PUT(r, 32, w->device);
	PUT(r, 40, w->stream);
	PUT(r, 44, w->correlation);
}

static void on_work(const struct fake_cuda_work *w)
{
	static uint64_t count;
	const char *drop = getenv("FAKE_CUPTI_DROP");
	struct record r = { .end_ns = w->end_ns };

	if (!is_active[w->kind == FAKE_WORK_KERNEL ? 10 : w->kind == FAKE_WORK_COPY ? 1 : 2])
		return;
	if (w->kind == FAKE_WORK_KERNEL)
		fill_kernel(&r, w);
	else
		fill_copy(&r, w);
	pthread_mutex_lock(&lock);
	if (record_count == RECORDS || (drop && ++count % strtoull(drop, NULL, 10) == 0))
		dropped++;
	else
		records[record_count++] = r;
	pthread_mutex_unlock(&lock);
}

EXPORT int cuptiGetVersion(uint32_t *version)
{
	*version = 130001;
	return 0;
}

EXPORT int cuptiSubscribe(void **subscriber, callback *function, void *data)
{
	if (getenv("FAKE_CUPTI_BUSY") || subscribed)
		return 39;
	records = records ? records : calloc(RECORDS, sizeof(*records));
	subscriber_data = data;
	subscribed = function;
	*subscriber = &subscribed;
	fake_cuda_call_hook = on_call;
	fake_cuda_work_hook = on_work;
	return 0;
}

EXPORT int cuptiUnsubscribe(void *subscriber)
{
	(void)subscriber;
	subscribed = NULL;
	return 0;
}

EXPORT int cuptiEnableCallback(uint32_t enable, void *subscriber, int domain, uint32_t id)
{
	(void)subscriber;
	if (domain != 1 || id >= IDS)
		return 1;
	is_enabled[id] = enable;
	return 0;
}

EXPORT int cuptiActivityRegisterTimestampCallback(uint64_t (*function)(void))
{
	now = function;
	return 0;
}

EXPORT int cuptiActivityRegisterCallbacks(void (*wanted)(uint8_t **, size_t *, size_t *),
					  void (*done)(void *, uint32_t, uint8_t *, size_t, size_t))
{
	want_buffer = wanted;
	buffer_done = done;
	return 0;
}

EXPORT int cuptiActivityEnable(int kind)
{
	if (getenv("FAKE_CUPTI_REFUSE"))
		return 35;
	is_active[kind] = true;
	return 0;
}

EXPORT int cuptiActivityDisable(int kind)
{
	is_active[kind] = false;
	return 0;
}

/* Fill one buffer with what has ended: its size; 0 when there is nothing. */
static size_t fill(uint8_t *buffer, size_t size, bool all)
{
	uint64_t time = now ? now() : UINT64_MAX;
	size_t used = 0, kept = 0;

	for (size_t i = 0; i < record_count; i++) {
		const struct record *r = &records[i];
		if ((!all && r->end_ns > time) || used + r->size > size) {
			records[kept++] = *r;
			continue;
		}
		memcpy(buffer + used, r->bytes, r->size);
		used += r->size;
	}
	record_count = kept;
	return used;
}

EXPORT int cuptiActivityFlushAll(uint32_t forced)
{
	for (;;) {
		uint8_t *buffer = NULL;
		size_t size = 0, count, used;
		want_buffer(&buffer, &size, &count);
		pthread_mutex_lock(&lock);
		if (!size)
			dropped += record_count, record_count = 0;
		used = size ? fill(buffer, size, forced) : 0;
		pthread_mutex_unlock(&lock);
		if (size)
			buffer_done(NULL, 0, buffer, size, used);
		if (!used)
			return 0;
	}
}

static size_t size_of(const uint8_t *record)
{
	return record[0] == 10 ? KERNEL_BYTES : record[0] == 1 ? MEMCPY_BYTES : MEMSET_BYTES;
}

EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record)
{
	uint8_t *next = *record ? *record + size_of(*record) : buffer;

	if (next >= buffer + valid)
		return 12;
	*record = next;
	return 0;
}

EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
	(void)context, (void)stream;
	pthread_mutex_lock(&lock);
	*count = dropped;
	dropped = 0;
	pthread_mutex_unlock(&lock);
	return 0;
}

EXPORT int cuptiGetResultString(int result, const char **text)
{
	*text = result == 39   ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
		: result == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
			       : "CUPTI_ERROR";
	return 0;
}
