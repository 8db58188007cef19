/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of the OpenCL runtime, shared by its files:
 *
 *	opencl.c	  the operations, and which hit goes where
 *	opencl_sites.c	  what is watched
 *	opencl_process.c  processes, threads, queues and devices
 *	opencl_kernel.c	  programs and kernels, and what they are called
 *	opencl_launch.c	  work as the host asks for it
 *	pocl.c		  when the device did it: POCL's own events, joined with the launches
 *
 * Handles are what the API gives out: addresses in the target.
 */
#pragma once

#include "accel/accel.h"
#include "accel/process_index.h"
#include "accel/told_code.h"
#include "base/hash.h"
#include "base/vec.h"

/* What a target can make us keep, for each process. Programs have a handful of queues; one that made
 * new ones without end would otherwise fill our memory. Beyond, all share one. */
#define OPENCL_QUEUES_MAX  4096
#define OPENCL_DEVICES_MAX 256
#define OPENCL_THREADS_MAX 65536
/* Launches of one queue that wait for their command, and commands that are not complete. A program
 * may enqueue as many as it likes before the device gets to them. */
#define OPENCL_WAITING_MAX (1u << 20)
/* With a runtime that never tells, only a few launches are kept. */
#define OPENCL_WAITING_MAX_MUTE (1u << 10)
/* How far a command's launch is looked for: many times what can be in flight out of order. */
#define OPENCL_SEARCH_MAX 8192
/* Queues whose device is looked for in the target's memory: each takes a thousand reads. */
#define OPENCL_DEVICE_SEARCHES 16
/* Threads that wait for the device at the same time. */
#define OPENCL_WAITS_MAX 4096

/* Words of a probe_site's id; the order is that of opencl_sites[]. */
enum opencl_site {
	SITE_NDRANGE = 1,
	SITE_TASK,
	SITE_NATIVE,
	SITE_FINISH,
	SITE_WAIT,
	SITE_USER_EVENT,
	SITE_CREATE_KERNEL,
	SITE_CREATE_KERNELS,
	SITE_CLONE_KERNEL,
	SITE_KERNEL_INFO,
	SITE_SOURCE,
	SITE_IL,
	SITE_BINARY,
	SITE_QUEUE,
	SITE_QUEUE_PROPERTIES,
	SITE_POCL_SUBMITTED,
	SITE_POCL_RUNNING,
	SITE_POCL_COMPLETE,
	SITE_TOLD, /* by the library inside */
	SITE_TIMES,
	/* From here on copies, fills and maps: SITE_TRANSFERS + index of opencl_transfers[]. */
	SITE_TRANSFERS = 64,
};

extern const struct probe_site opencl_sites[];
extern const char *const opencl_libraries[];

/* The API's numbers for commands (CL/cl.h); POCL keeps them in its events. */
enum opencl_command {
	COMMAND_NDRANGE = 0x11f0,
	COMMAND_TASK = 0x11f1,
	COMMAND_NATIVE = 0x11f2,
	COMMAND_LAST = 0x120e,
};

/* An enqueue call that moves memory. */
struct opencl_transfer {
	uint16_t command;  /* enum opencl_command */
	uint8_t kind;      /* enum launch_kind */
	bool has_region;   /* three values behind the queue: their product is the size; else one */
	bool is_timed;     /* by the library inside, where times are asked for */
	const char *title; /* what is shown */
};
const struct opencl_transfer *opencl_transfer(const struct probe_site *site);

/* Values when POCL submits: the event, POCL_WINDOW words of it, and twice POCL_RUN words, one of
 * which is of the command of an ND-range: its kernel and its numbers of work groups. */
#define POCL_WINDOW_OFFSET 64
#define POCL_WINDOW        7
#define POCL_RUN           4

/* A piece of work that was asked for and whose command has not been seen. */
struct opencl_launch {
	uint64_t correlation;
	uint64_t kernel_handle; /* 0: no kernel */
	uint64_t bytes;
	uint64_t time_ns;
	uint64_t ended_ns; /* when its thread was seen outside the call; 0: not yet */
	uint32_t kernel, name;
	uint32_t tid;
	uint32_t grid[3]; /* 0: not known */
	uint16_t command; /* enum opencl_command; 0: none will come of it */
	uint8_t kind;     /* enum launch_kind */
	bool is_joined;
	bool is_passed_over; /* a later one was submitted first: the call failed, or a launch next
				to it was joined in its place */
};

struct opencl_queue {
	uint64_t handle;
	uint32_t record;
	uint32_t device;
	bool out_of_order;
	/* All its launches are known: it was seen when it was made, or a launch was joined beyond
	 * doubt. Before that, commands may belong to launches from before the recording. */
	bool is_synced;
	uint32_t unjoined; /* commands without a launch while not synced */
	VEC(struct opencl_launch) launches;
	size_t first;    /* those before it are joined */
	uint64_t passed; /* launches that have been taken off the front: number of launches[0] */
};

struct opencl_thread {
	uint32_t tid;
	bool in_call; /* its last hit was a launch whose command has not been seen */
	size_t queue;
	uint64_t launch; /* number in the queue */
};

/* A command between its submission and its completion, by the address of POCL's event. */
struct opencl_command_state {
	uint64_t submitted_ns, start_ns, launched_ns;
	uint64_t correlation, bytes;
	uint32_t kernel, name;
	size_t queue;
	uint8_t kind;
};

/* A thread in clFinish or clWaitForEvents. */
#define WAIT_EVENTS 6
struct opencl_wait {
	uint32_t tid, thread, stack;
	uint64_t time_ns, end_ns; /* end_ns 0: nothing that it waits for has completed yet */
	uint32_t name;
	uint32_t queue_record, device;
	uint64_t queue; /* handle; 0: the events */
	uint64_t event[WAIT_EVENTS];
};

struct opencl_device {
	uint64_t handle;
	uint32_t record;
};

struct opencl_process {
	uint32_t process, pid;
	struct kernel_table kernels;
	struct hash queue_index, device_index, thread_index; /* by handle or tid */
	VEC(struct opencl_queue) queues;
	VEC(struct opencl_device) devices;
	VEC(struct opencl_thread) threads;
	VEC(struct opencl_wait) waits;
	struct hash command_index; /* event -> commands */
	VEC(struct opencl_command_state) commands;
	VEC(size_t) free_commands;
	int name_word;   /* of a kernel: which word points to its name; -1: not known */
	int window_word; /* of the window: which one is the queue; -1: not known */
	/* Numbers of work groups are where we look for them: seen once, and never otherwise. */
	bool groups_agree, groups_disagree;
	uint32_t device_searches;
	bool has_pocl;
	bool is_told;  /* by a library inside, of kernels of Intel's driver */
	bool is_timed; /* it also tells when the device worked */
	uint64_t launches, timed;
	struct told_code code;
};

/* What describe() tells. */
struct opencl_stats {
	uint64_t launches;       /* all kinds */
	uint64_t untimed;        /* of these in processes without POCL */
	uint64_t joined_in_call; /* command seen on the thread inside the call */
	uint64_t joined_in_order;
	uint64_t before;   /* commands whose launch was before the recording */
	uint64_t unseen;   /* commands whose launch must have been lost */
	uint64_t given_up; /* launches that had to be forgotten: too many were waiting */
	uint64_t unnamed;  /* kernels whose name could not be found */
	uint64_t cut;      /* program texts that were too long */
	uint64_t located;  /* kernels whose place in the device's memory was told */
	uint64_t timed;    /* launches of which the library inside has told when */
};

struct opencl {
	struct accel_host host;
	struct process_index processes;
	struct hash device_names; /* name, hashed with the ordinal -> number of the record */
	bool wants_times;         /* of the library inside */
	struct opencl_stats stats;
};

/* opencl_process.c. NULL: no memory. */
struct opencl_process *opencl_process(struct opencl *o, const struct accel_event *e);
void opencl_process_free(void *state);
/* Negative errno, or 0 and the index of the queue; makes its records when it is new. */
int opencl_queue(struct opencl *o, struct opencl_process *p, uint64_t handle, size_t *ret);
/* The DEVICE record of a handle; 0: a device that we could not see, all of those are one. */
int opencl_device(struct opencl *o, struct opencl_process *p, uint64_t handle, uint32_t *ret);
int opencl_queue_created(struct opencl *o, struct opencl_process *p, const struct accel_event *e);
int opencl_thread(struct opencl_process *p, uint32_t tid, struct opencl_thread **ret);

/* opencl_kernel.c */
int opencl_kernel_created(struct opencl *o, struct opencl_process *p, const struct accel_event *e);
int opencl_kernels_created(struct opencl *o, struct opencl_process *p, const struct accel_event *e);
int opencl_kernel_cloned(struct opencl *o, struct opencl_process *p, const struct accel_event *e);
int opencl_kernel_told(struct opencl *o, struct opencl_process *p, const struct accel_event *e);
/* What the library inside has told. */
int opencl_told(struct opencl *o, struct opencl_process *p, const struct accel_event *e);
int opencl_program_created(struct opencl *o, struct opencl_process *p, const struct accel_event *e);
/* The kernel of a handle; one that was never seen is looked at in the target's memory. */
int opencl_kernel(struct opencl *o, struct opencl_process *p, uint64_t handle, struct kernel *ret);

/* opencl_launch.c */
/* The device worked on what a command state tells, from its start until @end_ns. */
int opencl_dispatched(struct opencl *o, const struct opencl_queue *q,
		      const struct opencl_command_state *state, uint64_t end_ns);
/* The library inside has told when. */
int opencl_timed(struct opencl *o, struct opencl_process *p, const struct inject_time *time,
		 uint32_t tid);
int opencl_launched(struct opencl *o, struct opencl_process *p, const struct accel_event *e);
/* A thread was seen outside the call of its last launch. */
int opencl_thread_seen(struct opencl *o, struct opencl_process *p, const struct accel_event *e);
int opencl_waiting(struct opencl *o, struct opencl_process *p, const struct accel_event *e);
/* Write the waits of a thread, or of all threads with @tid 0. */
int opencl_waits_end(struct opencl *o, struct opencl_process *p, uint32_t tid);
/* The launch that the queue knows by this number, or NULL. */
struct opencl_launch *opencl_launch_get(struct opencl_queue *q, uint64_t number);

/* pocl.c */
int pocl_event(struct opencl *o, struct opencl_process *p, const struct accel_event *e);
