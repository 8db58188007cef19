/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace in memory, as compact as it can be held: what the host did per lane, what devices did per
 * queue, and the arrows between them. Filled by a format's reader (chrome.c), then nested (nest.h),
 * linked (link.h, backward.h, graph.h) and written (emit.h). Times are as the trace gives them, in
 * nanoseconds; `base_ns` is added when records are written, since it may come last in the file.
 */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "import/frames.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* An event and a node is a 32-bit number; 160 GB of JSON come first. */
#define TRACE_EVENTS_MAX (UINT32_MAX - 1)
#define TRACE_NONE       UINT32_MAX

enum host_kind {
	HOST_PYTHON,
	HOST_OP,
	HOST_SCOPE, /* annotations */
	HOST_CALL,  /* into a runtime or driver */
	HOST_OTHER,
	/* Work of a device that came as B and E: `detail` is its queue, `base` its device_kind. It
	 * becomes a device event when its end is known. */
	HOST_DEVICE,
	/* A part of a kernel, on the lane of the warp that did it; `detail` is the device event of
	 * the kernel. */
	HOST_INSIDE,
	HOST_KIND_COUNT
};

/* Something that a thread did. 48 bytes: what memory a large trace needs is these. */
struct host_event {
	int64_t start_ns, end_ns;
	uint64_t key; /* HOST_CALL: correlation, HOST_OP: "External id"; 0: none */
	uint32_t lane : 27;
	uint32_t has_order : 1; /* came as B and E, which say by themselves what is inside what */
	uint32_t kind : 4;      /* enum host_kind */
	uint32_t frame;
	uint32_t detail; /* string: HOST_OP: metadata of its launches, HOST_CALL: kernel's name */
	/* HOST_OP: the path that it stands on besides what it is nested in ("Call stack");
	 * HOST_SCOPE: string, the whole name, of which the frame has no iteration number;
	 * HOST_CALL: string, the detail of the op around it, set by nest.h */
	uint32_t base;
	uint32_t path; /* from the root to this event; set by nest.h */
};
static_assert(sizeof(struct host_event) == 48, "five million of these are to fit 240 MB");

enum device_kind {
	DEVICE_KERNEL,
	DEVICE_COPY,
	DEVICE_FILL,
	DEVICE_COLLECTIVE,
	DEVICE_OTHER,
};

enum device_link {
	LINK_NONE,
	LINK_CORRELATION,
	LINK_EXTERNAL_ID,
	LINK_FLOW,
	LINK_STACK, /* the trace gives the stack with the work */
};

/* Something that a device did. */
struct device_event {
	int64_t start_ns, end_ns;
	uint64_t correlation, external_id, bytes;
	uint32_t queue;    /* in trace.queues */
	uint32_t lane;     /* where its arrows end */
	uint32_t name;     /* string */
	uint32_t geometry; /* string of six uint32_t: grid and block; 0: not known */
	uint32_t detail;   /* string: metadata of its own (collective, occupancy) */
	uint32_t facts;    /* string: of the kernel (registers); 0 */
	uint32_t launch;   /* host event that launched it, or TRACE_NONE */
	uint32_t path;     /* of the launch; 0 with LINK_NONE */
	uint8_t kind;      /* enum device_kind */
	uint8_t link;      /* enum device_link */
	uint8_t flags;     /* enum launch_flag */
};

struct flow {
	uint64_t id;
	int64_t time_ns;
	uint32_t lane;
	bool is_start;
	bool is_backward; /* from a forward op to its backward op */
};

/* What ops say of autograd's graph. */
struct op_sequence {
	uint32_t event;
	uint32_t forward_thread; /* PyTorch's own number; 0: this is the forward op */
	uint64_t sequence;
};

struct instant {
	int64_t time_ns;
	uint32_t lane, name;
};

struct counter {
	int64_t time_ns;
	double value;
	uint64_t address;
	uint32_t lane, device; /* device: in trace.devices + 1; 0: none */
	uint32_t name, unit;
};

struct lane {
	uint32_t pid, tid; /* strings */
	uint32_t name;     /* string: from the trace's metadata */
	uint32_t thread;   /* the capture's number; 0: not written */
	bool is_host;
	bool is_inside;      /* of kernels: a warp's */
	VEC(uint32_t) open;  /* B events without their E, innermost last */
	VEC(uint32_t) loose; /* E events without their B, in `loose_ends` */
	VEC(uint32_t) order; /* its host events, sorted for nesting */
};

/* An end that came before its beginning, or without one. */
struct loose_end {
	int64_t time_ns;
	uint32_t name;
};

struct trace_device {
	uint32_t index; /* as the trace counts */
	uint32_t label; /* string: the trace's words for its process, "GPU 3" */
	uint32_t name;  /* string: "NVIDIA H100 80GB HBM3" */
	uint64_t units, memory_bytes;
	bool is_used;
	uint32_t id; /* the capture's number; 0: not written */
};

struct trace_queue {
	uint32_t device; /* in trace.devices */
	uint32_t stream; /* string */
	uint32_t id;
};

struct process_name {
	uint32_t pid, name;
	bool is_device; /* its label says so: "GPU 3" */
};

/* What the import tells about the trace itself; allow-listed keys only. */
struct trace_fact {
	uint32_t key, value;
};

struct trace {
	struct frames *frames; /* shared by all traces of an import */
	VEC(struct host_event) host;
	VEC(struct device_event) device;
	VEC(struct flow) flows;
	VEC(struct op_sequence) sequences;
	VEC(struct instant) instants;
	VEC(struct counter) counters;
	VEC(struct lane) lanes;
	VEC(struct loose_end) loose_ends;
	VEC(struct trace_device) devices;
	VEC(struct trace_queue) queues;
	VEC(struct process_name) processes;
	VEC(struct trace_fact) facts;
	struct hash lane_by_name; /* (pid, tid) -> lane */
	struct hash device_by_index;
	struct hash queue_by_name; /* (device, stream) -> queue */
	struct hash process_by_pid;
	struct hash kernel_inside; /* name (string) -> device event, of kernels seen from inside */
	struct hash forward_of;    /* backward op -> forward op, see backward.h */

	uint64_t base_ns;          /* added to every time */
	int64_t first_ns, last_ns; /* of all events, before that */
	bool has_device_spans;
	bool is_exact;    /* times are finer than a microsecond */
	uint32_t rank;    /* + 1; 0: not known */
	uint32_t runtime; /* string: "cuda", "hip", ... */
	uint32_t source;  /* string: "kineto", "chrome", ... */

	/* What did not fit. */
	uint64_t events;  /* of any kind */
	uint64_t skipped; /* events of kinds that mean nothing here */
	uint64_t clipped; /* spans that ended after what they were called from */
	uint64_t overlapping;
	uint64_t unpaired;  /* B without E, E without B */
	uint64_t bad_times; /* negative or impossible durations, set to 0 */
};

void trace_init(struct trace *t, struct frames *frames);
void trace_release(struct trace *t);

int trace_lane(struct trace *t, struct span pid, struct span tid, uint32_t *ret);
int trace_device(struct trace *t, uint32_t index, uint32_t *ret);
int trace_queue(struct trace *t, uint32_t device, struct span stream, uint32_t *ret);
int trace_process(struct trace *t, uint32_t pid, struct process_name **ret);
int trace_fact(struct trace *t, const char *key, struct span value);

/* Adds the event to its lane, and its times to the window. */
int trace_add_host(struct trace *t, const struct host_event *e, uint32_t *ret);
int trace_add_device(struct trace *t, const struct device_event *e);
/* The device event of a kernel that is known by what happens inside of it, made when it is new. */
int trace_kernel_inside(struct trace *t, const struct device_event *e, uint32_t *ret);
void trace_saw(struct trace *t, int64_t time_ns);

/* The B and E phases: a begun event is complete with its end. */
int trace_begin(struct trace *t, const struct host_event *e);
int trace_end(struct trace *t, uint32_t lane, uint32_t name, int64_t time_ns);
/* All events are there: close what is still open, at the end of the window. */
int trace_finish(struct trace *t);
