/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we use of CUPTI, NVIDIA's profiling interface, declared by ourselves so that neither building
 * nor running needs the toolkit: values and offsets of cupti_*.h of CUDA 11 to 13. A test holds them
 * against the real headers where they are installed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int cupti_result; /* 0 is CUPTI_SUCCESS */

#define CUPTI_OK                     0
#define CUPTI_MAX_LIMIT_REACHED      12 /* no more records in a buffer */
#define CUPTI_MULTIPLE_SUBSCRIBERS   39
#define CUPTI_INSUFFICIENT_PRIVILEGE 35

#define CUPTI_OUT_OF_MEMORY 8 /* the hardware's buffer was full */

#define CUPTI_DOMAIN_DRIVER   1
#define CUPTI_DOMAIN_RESOURCE 3
#define CUPTI_CONTEXT_ENDS    2 /* is about to be destroyed */
#define CUPTI_MODULE_LOADED   6
#define CUPTI_MODULE_UNLOADED 7 /* about to be */
#define CUPTI_NODE_CREATED    13
#define CUPTI_NODE_CLONED     20
#define CUPTI_SITE_ENTER      0

enum cupti_kind {
	CUPTI_KIND_MEMCPY = 1,
	CUPTI_KIND_MEMSET = 2,
	CUPTI_KIND_CONCURRENT_KERNEL = 10,
	CUPTI_KIND_MEMCPY_PEER = 22,
};

/* CUpti_CallbackData: what a callback of the driver's domain gets. */
struct cupti_call {
	uint32_t site;
	uint32_t padding;
	const char *function;
	const void *parameters;
	void *result;
	const char *symbol; /* of a kernel's launch */
	void *context;
	uint32_t context_id;
	uint32_t padding2;
	uint64_t *data;
	uint32_t correlation;
};

/* The beginning of CUpti_ActivityKernel5 and all later ones. */
struct cupti_kernel {
	uint32_t kind;
	uint8_t cache, cache2;
	uint16_t registers;
	uint32_t partitioned, partitioned2;
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t static_shared, dynamic_shared;
	uint32_t local_thread, local_total;
	uint32_t correlation;
	int64_t grid_id;
	const char *name;
	void *reserved;
	uint64_t queued, submitted;
	uint8_t launch_type, carveout_set, carveout, cache_set;
	uint32_t shared_executed;
	uint64_t node;
	uint32_t shared_limit, graph;
};

/* The beginning of CUpti_ActivityMemcpy3, CUpti_ActivityMemset2 and all later ones of both. */
struct cupti_transfer {
	uint32_t kind;
	uint8_t copy_kind; /* of a copy; of a fill a part of its value */
	uint8_t source, destination, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t
		correlation; /* not of CUpti_ActivityMemcpyPtoP2 and later ones, which is otherwise alike */
	uint32_t padding[4];
	uint64_t node; /* not of those either */
};

struct cupti_transfer_peer {
	uint32_t kind, kinds;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, source_device;
	uint32_t source_context, destination_device, destination_context;
	uint32_t correlation;
	uint64_t padding;
	uint64_t node;
};

/* CUpti_ResourceData; the descriptor is a CUpti_ModuleResourceData or a CUpti_GraphData. */
struct cupti_resource {
	void *context, *handle;
	const void *descriptor;
};

/* CUpti_GraphData */
struct cupti_graph {
	void *graph, *original_graph;
	void *node, *original_node;
	int type; /* of the node */
	void *dependency, *executable;
};
#define CUPTI_NODE_KERNEL 0
#define CUPTI_NODE_COPY   1
#define CUPTI_NODE_FILL   2

struct cupti_module {
	uint32_t id;
	size_t size;
	const void *cubin; /* valid within the callback */
};

/* CUpti_GetCubinCrcParams */
struct cupti_crc {
	size_t size, cubin_size;
	const void *cubin;
	uint64_t crc;
};

/* CUpti_PCSampling...Params: all begin alike, and have up to four words more. */
struct cupti_pc_request {
	size_t size;
	void *reserved, *context;
	union {
		size_t *reason_count;
		void *data; /* struct cupti_pc_data */
		struct {
			size_t count;
			uint32_t *index;
			char **names;
		} reasons;
		struct {
			size_t count;
			struct cupti_pc_setting *settings;
		} settings;
	};
};

/* CUpti_PCSamplingConfigurationInfo */
struct cupti_pc_setting {
	uint32_t type;
	cupti_result status;
	union {
		uint64_t data[3];
		uint32_t number;
		void *pointer;
		struct {
			size_t count;
			uint32_t *index;
		} reasons;
	};
};

#define CUPTI_PC_PERIOD       1
#define CUPTI_PC_REASONS      2
#define CUPTI_PC_MODE         5
#define CUPTI_PC_BUFFER       8
#define CUPTI_PC_CONTINUOUS   1
#define CUPTI_PC_SERIALIZED   2
#define CUPTI_PC_REASON_BYTES 128

struct cupti_pc_stall {
	uint32_t reason, samples;
};

/* CUpti_PCSamplingPCData; older ones than 12.4 end before the correlation. */
struct cupti_pc {
	size_t size;
	uint64_t crc, offset;
	uint32_t function_index, padding;
	char *function; /* CUPTI's, to be kept */
	size_t stall_count;
	struct cupti_pc_stall *stalls;
	uint32_t correlation;
};
#define CUPTI_PC_LONG_SINCE 22
#define CUPTI_PC_SHORT      56
#define CUPTI_PC_LONG       64

/* CUpti_PCSamplingData */
struct cupti_pc_data {
	size_t size, capacity;
	uint64_t total_samples, dropped_samples;
	size_t count, left;
	uint64_t range;
	void *pcs;
	uint64_t other_samples;
	uint8_t buffer_full;
};

typedef void cupti_callback(void *data, int domain, uint32_t id, const void *call);
typedef void cupti_buffer_wanted(uint8_t **buffer, size_t *size, size_t *records);
typedef void cupti_buffer_done(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid);

#define CUPTI_FUNCTIONS(F)                                                            \
	F(get_version, "cuptiGetVersion", (uint32_t *))                               \
	F(subscribe, "cuptiSubscribe", (void **, cupti_callback *, void *))           \
	F(unsubscribe, "cuptiUnsubscribe", (void *))                                  \
	F(enable_callback, "cuptiEnableCallback", (uint32_t, void *, int, uint32_t))  \
	F(use_clock, "cuptiActivityRegisterTimestampCallback", (uint64_t(*)(void)))   \
	F(use_buffers, "cuptiActivityRegisterCallbacks",                              \
	  (cupti_buffer_wanted *, cupti_buffer_done *))                               \
	F(enable, "cuptiActivityEnable", (int))                                       \
	F(disable, "cuptiActivityDisable", (int))                                     \
	F(flush, "cuptiActivityFlushAll", (uint32_t))                                 \
	F(next, "cuptiActivityGetNextRecord", (uint8_t *, size_t, const uint8_t **))  \
	F(dropped, "cuptiActivityGetNumDroppedRecords", (void *, uint32_t, size_t *)) \
	F(error_text, "cuptiGetResultString", (int, const char **))                   \
	F(device_of, "cuptiGetDeviceId", (void *, uint32_t *))

/* Without these less is told: those for samples came with CUDA 11.3. */
#define CUPTI_OPTIONAL(F)                                                                    \
	F(node_id, "cuptiGetGraphNodeId", (void *, uint64_t *))                              \
	F(crc, "cuptiGetCubinCrc", (struct cupti_crc *))                                     \
	F(pc_enable, "cuptiPCSamplingEnable", (struct cupti_pc_request *))                   \
	F(pc_disable, "cuptiPCSamplingDisable", (struct cupti_pc_request *))                 \
	F(pc_reason_count, "cuptiPCSamplingGetNumStallReasons", (struct cupti_pc_request *)) \
	F(pc_reasons, "cuptiPCSamplingGetStallReasons", (struct cupti_pc_request *))         \
	F(pc_set, "cuptiPCSamplingSetConfigurationAttribute", (struct cupti_pc_request *))   \
	F(pc_get, "cuptiPCSamplingGetData", (struct cupti_pc_request *))                     \
	F(pc_ask, "cuptiPCSamplingGetConfigurationAttribute", (struct cupti_pc_request *))

struct cupti {
#define CUPTI_MEMBER(name, symbol, parameters) cupti_result(*name) parameters;
	CUPTI_FUNCTIONS(CUPTI_MEMBER)
	CUPTI_OPTIONAL(CUPTI_MEMBER)
#undef CUPTI_MEMBER
	uint32_t version;
};

/* The one that the process has, else the newest that the dynamic linker finds. 0, or -1 and what is
 * wrong in @why. */
int cupti_load(struct cupti *ret, char *why, size_t size);
/* What a result means; never NULL. */
const char *cupti_error(const struct cupti *c, cupti_result result);
