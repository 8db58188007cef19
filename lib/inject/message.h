/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a library inside a target tells the recorder. There is no channel of its own: the library
 * calls an empty function, which the recorder probes. Nobody there to probe it is nobody to talk to,
 * which its counter (below) says; a recorder that dies leaves nothing behind.
 *
 *	accel_prof_RUNTIME_batch()  messages, one after the other, each 8-byte aligned
 *	accel_prof_cuda_launch()    a piece of work is given to the device, by this thread, from here
 *
 * A third of CUDA's is never called: a probe on it says that samples of instructions are wanted, too.
 *
 * Times are CLOCK_MONOTONIC. Read by lib/accel/told.c and its users, as everything from a target: as
 * if an enemy had written it.
 */
#pragma once

#include <stdint.h>

#define INJECT_CUDA_LIBRARY "libaccel-prof-cuda"
#define INJECT_CUDA_FILE    INJECT_CUDA_LIBRARY ".so"
#define INJECT_CUDA_LAUNCH  "accel_prof_cuda_launch"
#define INJECT_CUDA_BATCH   "accel_prof_cuda_batch"
/* uint16_t: how many places of the two are probed, counted by the kernel (as SystemTap's semaphores). It
 * counts places, so batch() begins with as many nops as this: two recorders seldom take the same. */
#define INJECT_PLACES         1024
#define INJECT_CUDA_LISTENERS "accel_prof_cuda_listeners"
#define INJECT_CUDA_SAMPLES   "accel_prof_cuda_samples"
#define INJECT_CUDA_SAMPLERS  "accel_prof_cuda_samplers" /* as the listeners, of that one */

/* The same: of kernels that run one at a time. */
#define INJECT_CUDA_SERIAL      "accel_prof_cuda_serial"
#define INJECT_CUDA_SERIALIZERS "accel_prof_cuda_serializers"
/*
 * The first word that launch() is given: correlation, kind, and for how many microseconds the library
 * has told of launches. One that was seen from outside since then is told, too; one before was not.
 */
#define INJECT_LAUNCH(correlation, kind, age) \
	((uint32_t)(correlation) | (uint64_t)(kind) << 32 | (uint64_t)(age) << 40)
#define INJECT_LAUNCH_KIND(word) ((uint32_t)((word) >> 32 & 0xff))
#define INJECT_LAUNCH_AGE(word)  ((word) >> 40)
#define INJECT_AGE_MAX           1000000 /* so long, or longer */
/* A variable of the environment, "PERIOD:GPU,GPU...": samples each 2^PERIOD cycles, 0: as CUPTI
 * chooses; of these GPUs, none: of all. */
#define INJECT_CUDA_SETTINGS "ACCEL_PROF_CUDA_SAMPLES"
/* Those of Level Zero and OpenCL tell what code is where, and when the device worked if a probe on the third asks for
 * that; launches are seen from outside. */
#define INJECT_ZE_LIBRARY       "libaccel-prof-ze"
#define INJECT_ZE_FILE          INJECT_ZE_LIBRARY ".so"
#define INJECT_ZE_BATCH         "accel_prof_ze_batch"
#define INJECT_ZE_LISTENERS     "accel_prof_ze_listeners"
#define INJECT_ZE_TIMES         "accel_prof_ze_times"
#define INJECT_ZE_TIMERS        "accel_prof_ze_timers"
#define INJECT_OPENCL_LIBRARY   "libaccel-prof-opencl"
#define INJECT_OPENCL_FILE      INJECT_OPENCL_LIBRARY ".so"
#define INJECT_OPENCL_BATCH     "accel_prof_opencl_batch"
#define INJECT_OPENCL_LISTENERS "accel_prof_opencl_listeners"
#define INJECT_OPENCL_TIMES     "accel_prof_opencl_times"
#define INJECT_OPENCL_TIMERS    "accel_prof_opencl_timers"

/* Bytes of one batch at most. */
#define INJECT_BATCH_BYTES (32u << 10)

enum inject_launch_kind {
	INJECT_LAUNCH_KERNEL = 1,
	INJECT_LAUNCH_COPY,
	INJECT_LAUNCH_FILL,
	INJECT_LAUNCH_GRAPH,
	/* Recorded into a graph and not launched: the kind of work is in the correlation's place, the
	 * node's number (CUPTI's) in the stream's. */
	INJECT_LAUNCH_NODE,
};

enum inject_type {
	INJECT_STATUS = 1, /* a text for people: what cannot be collected, and why */
	INJECT_NAME,       /* struct inject_name: what a number stands for from now on */
	INJECT_WORK,       /* struct inject_work: the device has done a piece of work */
	INJECT_DROPPED,    /* struct inject_dropped */
	INJECT_CODE,       /* struct inject_code: a part of a module's image */
	INJECT_SAMPLES,    /* struct inject_samples: of one instruction */
	INJECT_NODE,       /* struct inject_node: a node of a graph has been copied */
	INJECT_KERNEL,     /* struct inject_kernel: where a kernel's code is */
	INJECT_HERE, /* a header alone: modules and kernels will be told from here on; about 1: all
			      that there are, as there were none before */
	INJECT_THREAD, /* struct inject_thread: the thread that sends this */
	INJECT_TIME,   /* struct inject_time: when the device worked on a launch */
};

/* What a text is about. */
enum inject_status {
	INJECT_STATUS_TIME,     /* there are no times of the device, or fewer */
	INJECT_STATUS_SAMPLES,  /* or samples */
	INJECT_STATUS_SAMPLING, /* how samples are taken */
};

struct inject_header {
	uint16_t type;  /* enum inject_type */
	uint16_t about; /* of a status: enum inject_status */
	uint32_t size;  /* with this header; the next message begins at the next multiple of 8 */
};

struct inject_name {
	struct inject_header header;
	uint32_t id; /* not 0 */
	uint32_t length;
	/* the text, @length bytes */
};

/* Longest name told; longer ones are cut. */
#define INJECT_NAME_BYTES 4096

struct inject_work {
	struct inject_header header;
	uint32_t correlation; /* as of the launch */
	uint32_t kind;        /* enum inject_launch_kind, but for graphs */
	uint32_t device, stream;
	uint64_t start_ns, end_ns;
	uint64_t bytes;  /* of a copy or fill */
	uint32_t name;   /* of a kernel: as in inject_name */
	uint32_t detail; /* of a copy: CUpti_ActivityMemcpyKind */
	uint64_t node;   /* of a graph; 0: none */
};

struct inject_node {
	struct inject_header header;
	uint64_t node, original;
};

struct inject_dropped {
	struct inject_header header;
	uint64_t count;   /* pieces of work whose times were lost inside the target, */
	uint64_t samples; /* and samples of instructions */
};

/* Images come before what is in them, in order, once each. */
struct inject_code {
	struct inject_header header;
	uint64_t module; /* CUDA: its checksum; else the handle of the module or program */
	uint64_t total, offset;
	/* the bytes */
};

#define INJECT_CODE_BYTES (16u << 10)

struct inject_samples {
	struct inject_header header;
	uint64_t module;
	uint64_t start_ns, end_ns; /* when they were taken */
	uint64_t offset;           /* from the start of the function */
	uint32_t function, reason; /* as in inject_name */
	uint32_t count, device;
	uint32_t correlation; /* of the launch, where kernels run one at a time; 0: not known */
	uint32_t padding;
};

struct inject_kernel {
	struct inject_header header;
	uint64_t handle, module, device; /* 0: not known */
	uint64_t address;                /* for the device; 0: the driver does not tell */
	uint64_t size;                   /* 0: not known, or as the module's image says */
	uint32_t name;                   /* as in inject_name */
	/* Of the device: domain << 16 | bus << 8 | device << 3 | function; 0: not known. */
	uint32_t pci;
};

/* What a thread is called in messages. */
struct inject_thread {
	struct inject_header header;
	uint32_t number, padding; /* not 0 */
};

/*
 * Of the work that was asked for: OpenCL: by the last launch to this queue that began on this thread before @call_ns, the
 * end of its call. Level Zero: by the last one that was given this event to signal.
 */
struct inject_time {
	struct inject_header header;
	uint64_t handle; /* queue or event */
	uint64_t call_ns;
	uint32_t thread; /* 0: none */
	uint32_t kind;   /* enum inject_launch_kind */
	uint64_t start_ns, end_ns;
};
