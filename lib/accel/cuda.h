/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of the CUDA runtime, shared by its files:
 *
 *	cuda.c		the operations, processes and threads, and which hit goes where
 *	cuda_sites.c	what is watched
 *	cuda_kernel.c	modules, libraries and functions, and what they are called
 *	cuda_launch.c	work as the host asks for it, and its waits
 *	cuda_told.c	what the library inside a target tells: launches, and when the device worked
 *	cuda_graph.c	graphs: what is recorded into them, and what launches which
 *	cuda_samples.c	and where it was, and why it stalled
 *
 * Without that library calls are seen from outside: launches, copies and waits with their stacks, and
 * no times of the device. Handles are what the API gives out: addresses in the target.
 */
#pragma once

#include "accel/accel.h"
#include "accel/host_waits.h"
#include "accel/kernel_table.h"
#include "accel/process_index.h"
#include "accel/told.h"
#include "base/hash.h"
#include "base/vec.h"

/* What a target can make us keep, for each process. Large programs have dozens of streams and a
 * context for each device. Beyond, what is new has no name. */
#define CUDA_QUEUES_MAX   4096
#define CUDA_CONTEXTS_MAX 4096
#define CUDA_THREADS_MAX  65536
/* Launches whose work may still be told: what can be in flight, many times. A power of two. */
#define CUDA_TOLD_MAX (1u << 17)
/* Graphs, and nodes of graphs, whose origin is kept. */
#define CUDA_GRAPHS_MAX (1u << 16)
#define CUDA_NODES_MAX  (1u << 20)

/* Words of a probe_site's id. */
enum cuda_site {
	SITE_LAUNCH = 1,
	SITE_LAUNCH_CONFIG, /* cuLaunchKernelEx(): sizes and stream in a struct */
	SITE_GRAPH,
	SITE_SYNC,
	SITE_SYNC_END,
	SITE_MODULE,   /* made from an image in memory */
	SITE_FUNCTION, /* looked up by name in a module or library */
	SITE_KERNEL_FUNCTION,
	SITE_LIBRARY_MODULE,
	SITE_FUNCTION_NAME, /* the program asks for it itself */
	SITE_UNLOAD,
	SITE_CONTEXT,
	SITE_CONTEXT_SET,
	SITE_DEVICE_NAME,
	SITE_RUNTIME_LAUNCH,
	SITE_RUNTIME_LAUNCH_CONFIG,
	SITE_RUNTIME_GRAPH,
	SITE_RUNTIME_REGISTER,
	SITE_RUNTIME_KERNEL,
	SITE_CAPTURE,     /* a stream's calls are recorded from now on */
	SITE_CAPTURE_END, /* into this graph */
	SITE_GRAPH_NODE,  /* a kernel is added to a graph by name */
	SITE_GRAPH_NODE_ANY,
	SITE_GRAPH_COPY, /* a graph is made of another, or an executable one */
	SITE_TOLD_LAUNCH,
	SITE_TOLD_BATCH,
	SITE_TOLD_SAMPLES, /* never hit: its probe asks for samples */
	SITE_TOLD_SERIAL,  /* the same: of kernels that run one at a time */
	/* From here on SITE_TRANSFERS + enum cuda_transfer_kind. */
	SITE_TRANSFERS = 64,
	/* The stream 0 of this variant is the calling thread's own. */
	SITE_PER_THREAD = 1 << 8,
};
#define SITE_MASK (SITE_PER_THREAD - 1)

extern const struct probe_site cuda_sites[];
extern const char *const cuda_libraries[];

/* A call that moves or fills memory. Its values are the amount and, with @has_stream, the stream. */
struct cuda_transfer {
	const char *title;
	uint8_t kind; /* enum launch_kind */
	uint8_t unit; /* bytes that one of the amount is; 0: no amount among the values */
	bool has_stream;
};
const struct cuda_transfer *cuda_transfer(const struct probe_site *site);

struct cuda_queue {
	uint32_t record, device; /* of the capture */
};

/* Whether the runtime's library launches through functions of the driver that are watched. */
enum cuda_nesting {
	NESTING_UNKNOWN,
	NESTING_YES, /* then each launch is seen there, and the runtime's own sites say it again */
	NESTING_NO,
};

struct cuda_thread {
	uint32_t device; /* ordinal + 1, of its current context; 0: not known */
	uint64_t launch; /* correlation of its last one that was seen from outside, */
	uint64_t launched_ns;
	bool is_waiting; /* @pending is a launch that no call of the driver followed yet */
	struct accel_event pending; /* its stack and text are gone */
};

/* A launch that was told, by what the target calls it. */
struct cuda_told {
	uint64_t correlation; /* ours; 0: none */
	uint32_t target;      /* its number there */
	uint32_t kernel;      /* record; 0: none, or one without a name */
};

struct cuda_process {
	uint32_t process, pid;
	bool is_told;
	struct cuda_told *told; /* CUDA_TOLD_MAX of them, by number; NULL until there is one */
	struct hash names;      /* the target's number of a name -> string */
	struct told_image image;
	struct hash capturing; /* stream -> number of the graph that its calls are recorded into */
	struct hash graphs;    /* graph, executable or not -> its number */
	struct hash nodes;     /* the target's number of a node -> what LAUNCH_CAPTURED has */
	enum cuda_nesting nesting;
	struct kernel_table functions; /* those of libraries, and the host's stubs, too */
	struct kernel_table sampled;   /* without handles; a module's is its checksum */
	struct hash queue_index;       /* device and stream, hashed -> queues */
	VEC(struct cuda_queue) queues;
	struct hash contexts;     /* context -> ordinal + 1 */
	struct hash thread_index; /* tid -> threads */
	VEC(struct cuda_thread) threads;
	struct host_waits waits;
};

/* What describe() tells. */
struct cuda_stats {
	uint64_t launches; /* all kinds */
	uint64_t unnamed;  /* kernels whose name was not seen */
	uint64_t graphs;   /* launches of whole graphs */
	uint64_t captured; /* work recorded into graphs */
	uint64_t untimed;  /* seen from outside only */
	uint64_t before;   /* work whose launch was not seen */
	uint64_t dropped;  /* work whose times were lost in the target */
	uint64_t samples;
};

struct cuda {
	struct accel_host host;
	struct process_index processes;
	struct hash devices;      /* ordinal + 1 -> number of the DEVICE record */
	struct hash device_names; /* ordinal + 1 -> string */
	/* As asked for: kernels one at a time; cycles between samples and GPUs, 0 and NULL: any. */
	bool is_serial;
	uint32_t period_log2;
	char *gpus;
	uint32_t replay_object; /* the frame "[graph replay]"; 0: not written yet */
	struct cuda_stats stats;
};

/* cuda.c */
int cuda_thread(struct cuda_process *p, uint32_t tid, struct cuda_thread **ret);
/* The queue of a stream on a device, an ordinal + 1; makes its records when it is new. */
int cuda_queue(struct cuda *c, struct cuda_process *p, uint32_t device, uint64_t stream,
	       struct cuda_queue *ret);

/* cuda_kernel.c */
int cuda_module_loaded(struct cuda *c, struct cuda_process *p, const struct accel_event *e);
int cuda_function_found(struct cuda *c, struct cuda_process *p, const struct accel_event *e);
int cuda_function_told(struct cuda *c, struct cuda_process *p, const struct accel_event *e);
/* @alias is another handle of what @handle is. */
int cuda_function_alias(struct cuda_process *p, uint64_t alias, uint64_t handle);
int cuda_function(struct cuda *c, struct cuda_process *p, uint64_t handle, struct kernel *ret);

/* cuda_launch.c */
int cuda_launched(struct cuda *c, struct cuda_process *p, const struct accel_event *e);
/* By the runtime's library: only where the driver's calls are not seen. */
int cuda_runtime_launched(struct cuda *c, struct cuda_process *p, const struct accel_event *e);
/* The LAUNCH record of a hit, with a correlation of ours: 0 or a negative errno. */
int cuda_put_launch(struct cuda *c, struct cuda_process *p, struct cuda_thread *thread,
		    const struct accel_event *e);
int cuda_waiting(struct cuda *c, struct cuda_process *p, const struct accel_event *e);

/* What a hit says of a launch beside time, thread and stack. */
int cuda_describe_launch(struct cuda *c, struct cuda_process *p, const struct accel_event *e,
			 struct record_launch *launch);
/* A call's stream as it is kept: one that stands for others is none of its own. */
uint64_t cuda_stream(const struct accel_event *e, uint64_t stream);

/* cuda_graph.c */
int cuda_capture_begins(struct cuda *c, struct cuda_process *p, const struct accel_event *e);
int cuda_capture_ends(struct cuda_process *p, const struct accel_event *e);
int cuda_graph_copied(struct cuda_process *p, const struct accel_event *e);
int cuda_node_added(struct cuda *c, struct cuda_process *p, const struct accel_event *e);
/* By the library inside; @m is behind the header. */
int cuda_told_node(struct cuda *c, struct cuda_process *p, const struct accel_event *e);
int cuda_told_copy(struct cuda_process *p, struct cursor *m);
/* The graph that a call on @stream is recorded into; 0: none. */
uint64_t cuda_captured_into(const struct cuda_process *p, uint64_t stream);
/* The number of a graph, executable or not; 0: not known. */
uint64_t cuda_graph_number(const struct cuda_process *p, uint64_t handle);
/* Writes @record, which is otherwise complete, as one of work that was recorded. */
int cuda_put_captured(struct cuda *c, struct record *record);

/* cuda_told.c */
int cuda_told_launch(struct cuda *c, struct cuda_process *p, const struct accel_event *e);
/* Of ours, for one of the target's; 0: not known. */
uint64_t cuda_told_correlation(const struct cuda_process *p, uint32_t target);
int cuda_told_batch(struct cuda *c, struct cuda_process *p, const struct accel_event *e);

/* cuda_samples.c; @m is behind the header. */
int cuda_told_code(struct cuda_process *p, struct cursor *m);
int cuda_told_samples(struct cuda *c, struct cuda_process *p, struct cursor *m);
/* The DEVICE record of an ordinal + 1; 0: a device that could not be seen. */
int cuda_device(struct cuda *c, uint32_t device, uint32_t *ret);
