/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mock of libcupti.so: callbacks at the mock driver's calls, and activity records of its work in
 * the shapes of CUDA 13, delivered in the buffers that it asks for. What it is told to do wrong:
 *
 *	FAKE_CUPTI_BUSY     another tool is subscribed already
 *	FAKE_CUPTI_REFUSE   activities need a privilege
 *	FAKE_CUPTI_DROP=N   each N-th record finds no room
 *	FAKE_CUPTI_PCS=FUNCTION:OFFSET:REASON:COUNT,...  what each run of a kernel gives in samples
 *	FAKE_CUPTI_VERSION=N  be that old: 13 is CUDA 11.0's, 18 12.0's, with their smaller records
 *	FAKE_CUPTI_NO_MEMORY  neither times nor samples can be had, for want of memory
 *	FAKE_CUPTI_FULL=N   the N-th time that samples are asked for the GPU's buffer is full
 */
#include "hooks.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* CUpti_ActivityKernel10, CUpti_ActivityMemcpy6, CUpti_ActivityMemset4: sizes in bytes. */
#define KERNEL_BYTES 216
#define MEMCPY_BYTES 96
#define MEMSET_BYTES 88

/* CUpti_ActivityKernel5, CUpti_ActivityMemcpy3, CUpti_ActivityMemset2. */
#define KERNEL_OLD_BYTES   160
#define TRANSFER_OLD_BYTES 72

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
static bool is_enabled[IDS], is_resource_enabled[32], is_active[64];
static uint64_t (*now)(void);
static void (*want_buffer)(uint8_t **, size_t *, size_t *);
static void (*buffer_done)(void *, uint32_t, uint8_t *, size_t, size_t);
static struct record *records;
static size_t record_count, dropped;

static uint32_t version(void)
{
	const char *text = getenv("FAKE_CUPTI_VERSION");

	return text ? (uint32_t)strtoul(text, NULL, 10) : 130001;
}

static bool is_old(void)
{
	return version() < 22;
}

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
	} data = { .site = call->result != NULL,
		   .result = (void *)call->result,
		   .function = call->name,
		   .parameters = call->parameters,
		   .symbol = call->symbol,
		   .context = call->context,
		   .correlation = call->correlation };

	if (subscribed && is_enabled[call->id])
		subscribed(subscriber_data, 1, call->id, &data);
}

static void fill_kernel(struct record *r, const struct fake_cuda_work *w)
{
	uint32_t kind = 10;

	r->size = is_old() ? KERNEL_OLD_BYTES : KERNEL_BYTES;
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

	r->size = is_old()                    ? TRANSFER_OLD_BYTES
		  : w->kind == FAKE_WORK_COPY ? MEMCPY_BYTES
					      : MEMSET_BYTES;
	PUT(r, 0, kind);
	PUT(r, 4, detail);
	PUT(r, 8, w->bytes);
	PUT(r, 16, w->start_ns);
	PUT(r, 24, w->end_ns);
	PUT(r, 32, w->device);
	PUT(r, 40, w->stream);
	PUT(r, 44, w->correlation);
	PUT(r, 64, w->node);
}

/* Samples: what one run of a kernel gives, and what has not been asked for yet. */
#define PCS_MAX 64

static const char *const reasons[] = {
	"smsp__pcsamp_warps_issue_stalled_selected",
	"smsp__pcsamp_warps_issue_stalled_wait",
	"smsp__pcsamp_warps_issue_stalled_wait_not_issued",
	"smsp__pcsamp_warps_issue_stalled_long_scoreboard",
	"smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
};
#define REASONS (sizeof(reasons) / sizeof(reasons[0]))

static struct pc {
	char function[128];
	uint64_t crc, offset;
	unsigned int reason, each, waiting;
	uint32_t correlation; /* where kernels run one at a time */
} pcs[PCS_MAX];
static size_t pc_count;
static bool is_sampling;
static const void *sampled;        /* context */
static uint32_t mode, period = 20; /* as configured */

static uint64_t crc_of(const void *image, size_t size)
{
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const unsigned char *)image)[i]) * 1099511628211u;
	return hash;
}

static void read_pcs(void)
{
	const char *text = getenv("FAKE_CUPTI_PCS");
	char reason[64];
	int length = 0;

	for (; text && *text && pc_count < PCS_MAX; text += length) {
		struct pc *p = &pcs[pc_count];
		if (sscanf(text, "%127[^:]:%lx:%63[^:]:%u%n", p->function, &p->offset, reason,
			   &p->each, &length) != 4)
			abort();
		for (p->reason = 0; !strstr(reasons[p->reason], reason); p->reason++)
			if (p->reason + 1 == REASONS)
				abort();
		pc_count++;
		length += text[length] == ',';
	}
}

static void sample(const struct fake_cuda_work *w)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; is_sampling && i < pc_count; i++) {
		if (mode == 2) {
			/* What was not asked for after the kernel is gone; of graphs there is nothing. */
			pcs[i].waiting = 0;
			pcs[i].correlation = w->correlation;
			if (w->node)
				continue;
		}
		if (strcmp(pcs[i].function, w->name) != 0)
			continue;
		pcs[i].crc = crc_of(w->module.image, w->module.size);
		pcs[i].waiting += pcs[i].each;
	}
	pthread_mutex_unlock(&lock);
}

/* Whoever samples it must not do so any more when it is gone. */
static void on_context_end(void *context)
{
	struct {
		void *context, *handle;
		const void *descriptor;
	} data = { context, NULL, NULL };

	if (subscribed && is_resource_enabled[2])
		subscribed(subscriber_data, 3, 2, &data);
	if (is_sampling && sampled == context)
		abort();
}

static void on_module(const struct fake_cuda_module *m, int is_loaded)
{
	struct {
		uint32_t id;
		size_t size;
		const void *cubin;
	} module = { 1, m->size, m->image };
	struct {
		void *context, *handle;
		const void *descriptor;
	} data = { NULL, NULL, &module };
	uint32_t id = is_loaded ? 6 : 7;

	if (subscribed && is_resource_enabled[id])
		subscribed(subscriber_data, 3, id, &data);
}

static void on_node(const struct fake_cuda_node *n)
{
	struct {
		void *graph, *original_graph;
		const void *node, *original;
		int type;
		void *dependency, *executable;
	} graph = { .node = n->node, .original = n->original, .type = n->type };
	struct {
		void *context, *handle;
		const void *descriptor;
	} data = { NULL, NULL, &graph };
	uint32_t id = n->original ? 20 : 13;

	if (subscribed && is_resource_enabled[id])
		subscribed(subscriber_data, 3, id, &data);
}

EXPORT int cuptiGetGraphNodeId(const void *node, uint64_t *number)
{
	*number = *(const uint64_t *)node;
	return 0;
}

static void on_work(const struct fake_cuda_work *w)
{
	static uint64_t count;
	const char *drop = getenv("FAKE_CUPTI_DROP");
	struct record r = { .end_ns = w->end_ns };

	if (w->kind == FAKE_WORK_KERNEL)
		sample(w);
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

EXPORT int cuptiGetVersion(uint32_t *ret)
{
	*ret = version();
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
	fake_cuda_module_hook = on_module;
	fake_cuda_node_hook = on_node;
	fake_cuda_context_hook = on_context_end;
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
	if (domain == 3 && id < 32) {
		is_resource_enabled[id] = enable;
		return 0;
	}
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
	if (getenv("FAKE_CUPTI_NO_MEMORY"))
		return 8;
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
	if (record[0] == 10)
		return is_old() ? KERNEL_OLD_BYTES : KERNEL_BYTES;
	return is_old() ? TRANSFER_OLD_BYTES : record[0] == 1 ? MEMCPY_BYTES : MEMSET_BYTES;
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
		: result == 8  ? "CUPTI_ERROR_OUT_OF_MEMORY"
			       : "CUPTI_ERROR";
	return 0;
}

EXPORT int cuptiGetDeviceId(void *context, uint32_t *device)
{
	*device = *(const uint32_t *)context; /* as the mock driver's begins */
	return 0;
}

struct crc_request {
	size_t size, cubin_size;
	const void *cubin;
	uint64_t crc;
};

EXPORT int cuptiGetCubinCrc(struct crc_request *request)
{
	request->crc = crc_of(request->cubin, request->cubin_size);
	return 0;
}

struct request {
	size_t size;
	void *reserved, *context;
	size_t words[3];
};

struct setting {
	uint32_t type;
	int status;
	uint64_t data[3];
};

EXPORT int cuptiPCSamplingEnable(struct request *request)
{
	if (request->size != 24)
		return 1;
	if (getenv("FAKE_CUPTI_NO_MEMORY"))
		return 8;
	/* One context at a time. */
	if (is_sampling)
		return 1;
	sampled = request->context;
	if (!pc_count)
		read_pcs();
	is_sampling = true;
	return 0;
}

EXPORT int cuptiPCSamplingDisable(struct request *request)
{
	if (!is_sampling || request->context != sampled)
		return 1;
	is_sampling = false;
	return 0;
}

EXPORT int cuptiPCSamplingGetNumStallReasons(struct request *request)
{
	if (!is_sampling || request->size != 32)
		return 1;
	*(size_t *)request->words[0] = REASONS;
	return 0;
}

EXPORT int cuptiPCSamplingGetStallReasons(struct request *request)
{
	uint32_t *index = (uint32_t *)request->words[1];
	char **names = (char **)request->words[2];

	if (!is_sampling || request->size != 48)
		return 1;
	for (size_t i = 0; i < request->words[0]; i++) {
		index[i] = (uint32_t)i;
		snprintf(names[i], 128, "%s", reasons[i]);
	}
	return 0;
}

EXPORT int cuptiPCSamplingSetConfigurationAttribute(struct request *request)
{
	struct setting *settings = (struct setting *)request->words[1];

	if (!is_sampling || request->size != 40)
		return 1;
	for (size_t i = 0; i < request->words[0]; i++) {
		settings[i].status = 0;
		if (settings[i].type == 5)
			mode = (uint32_t)settings[i].data[0];
		if (settings[i].type == 1)
			period = (uint32_t)settings[i].data[0];
	}
	return 0;
}

EXPORT int cuptiPCSamplingGetConfigurationAttribute(struct request *request)
{
	struct setting *settings = (struct setting *)request->words[1];

	if (!is_sampling || request->size != 40 || request->words[0] != 1 || settings->type != 1)
		return 1;
	settings->status = 0;
	settings->data[0] = period;
	return 0;
}

/* CUpti_PCSamplingData and CUpti_PCSamplingPCData of CUDA 13. */
struct pc_data {
	size_t size, capacity;
	uint64_t total, dropped;
	size_t count, left;
	uint64_t range;
	struct pc_record {
		size_t size;
		uint64_t crc, offset;
		uint32_t function_index, padding;
		char *function;
		size_t stall_count;
		uint32_t (*stalls)[2];
		uint32_t correlation;
	} * records;
	uint64_t other;
	uint8_t full;
};

EXPORT int cuptiPCSamplingGetData(struct request *request)
{
	struct pc_data *data = (struct pc_data *)request->words[0];
	static unsigned long calls;
	const char *full = getenv("FAKE_CUPTI_FULL");

	/* Those of before CUDA 12.4 end before the correlation, which is padded. */
	size_t stride = sizeof(struct pc_record) - (is_old() ? 8 : 0);

	if (!is_sampling || request->size != 32 || request->context != sampled ||
	    data->size != sizeof(*data) || data->records[0].size != stride)
		return 1;
	data->count = 0;
	if (full && ++calls == strtoul(full, NULL, 10)) {
		data->full = 1;
		return 8;
	}
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < pc_count && data->count < data->capacity; i++) {
		struct pc_record *r = (void *)((char *)data->records + data->count * stride);
		if (!pcs[i].waiting)
			continue;
		r->crc = pcs[i].crc;
		r->offset = pcs[i].offset;
		r->function = pcs[i].function;
		r->stall_count = 1;
		if (!is_old())
			r->correlation = mode == 2 ? pcs[i].correlation : 0;
		r->stalls[0][0] = pcs[i].reason;
		r->stalls[0][1] = pcs[i].waiting;
		data->count++;
		pcs[i].waiting = 0;
	}
	pthread_mutex_unlock(&lock);
	return 0;
}
