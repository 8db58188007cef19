/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of the Level Zero runtime, shared by its files:
 *
 *	ze.c		the operations, and which hit goes where
 *	ze_sites.c	what is watched
 *	ze_device.c	devices, and the queues and lists that belong to them
 *	ze_kernel.c	modules and kernels, and what they are called
 *	ze_launch.c	work as the host asks for it, and its waits
 *
 * Work is appended to a command list. An immediate one runs it at once; of others, what was appended is launched by who
 * appended it the first time that the list is executed, and by who executes it again after that.
 *
 * Handles are what the API gives out: addresses in the target.
 */
#pragma once

#include "accel/accel.h"
#include "accel/host_waits.h"
#include "accel/process_index.h"
#include "accel/told_code.h"
#include "base/hash.h"
#include "base/vec.h"

/* What a target can make us keep, for each process. Beyond, what is new has no device. */
#define ZE_LISTS_MAX   65536
#define ZE_QUEUES_MAX  4096
#define ZE_DEVICES_MAX 256
/* Different pieces of work in one list, which are told again when it is executed again, and how many of the last ones
 * one more is compared with. */
#define ZE_WORK_MAX  65536
#define ZE_WORK_LOOK 64
/* The same of all lists. */
#define ZE_KEPT_MAX (1u << 20)
/* One call may execute lists of a million pieces. No device begins as many in a second; what else is asked for is
 * counted as cut. */
#define ZE_LAUNCHES_PER_SECOND (1u << 19)
/* Events that are awaited: the library inside has some ten thousand, and programs theirs. */
#define ZE_AWAITED_MAX 65536
/* Kernels of one call, and lists of one call; and how many of them are taken along with it. */
#define ZE_ARRAY_MAX   4096
#define ZE_ARRAY_FIRST 8

/* Words of a probe_site's id. */
enum ze_site {
	SITE_LAUNCH = 1,      /* list, kernel, groups as a word and a half, event */
	SITE_LAUNCH_SIZED,    /* the same with the size of a group before the event */
	SITE_LAUNCH_INDIRECT, /* list, kernel, event */
	SITE_LAUNCH_SEVERAL,  /* list, number of kernels, place of the kernels, first kernels */
	SITE_EXECUTE,         /* the same of lists, executed by a queue */
	SITE_EXECUTE_IN,      /* or by a list */
	SITE_SYNC,
	SITE_SYNC_END,
	SITE_MODULE,
	SITE_MODULE_GONE,
	SITE_KERNEL,
	SITE_QUEUE,
	SITE_LIST,
	SITE_LIST_IMMEDIATE,
	SITE_LIST_EMPTY, /* reset or destroyed */
	SITE_DEVICE,
	SITE_DEVICE_PCI,
	SITE_TOLD,
	SITE_TIMES,
	/* From here on SITE_TRANSFERS + index of the table of transfers. */
	SITE_TRANSFERS = 64,
};

extern const struct probe_site ze_sites[];
extern const char *const ze_libraries[];

/* A call that moves or fills memory. Its values are the list and, with @has_size, the bytes; and for some the event. */
struct ze_transfer {
	const char *title;
	uint8_t kind; /* enum launch_kind */
	bool has_size;
};
const struct ze_transfer *ze_transfer(const struct probe_site *site);

/* Bytes of ze_device_properties_t that are taken along; the name is the last of them. */
#define ZE_DEVICE_BYTES 368

struct ze_device {
	uint64_t handle;
	uint32_t record;       /* 0: not written yet */
	uint32_t name, vendor; /* strings; 0: not known */
	uint32_t pci;          /* ACCEL_PCI(); 0: not known */
};

struct ze_queue {
	uint32_t record, device; /* of the capture */
};

/* What is the same of pieces of work that were appended to one list. */
struct ze_work {
	uint32_t kernel, name; /* of the capture; one of them is 0 */
	uint32_t grid[3], block[3];
	uint8_t kind; /* enum launch_kind */
	uint64_t bytes, count;
	uint64_t correlation; /* of the last time that it was asked for */
};

/* Work that an event of the target's will tell of. */
struct ze_awaited {
	uint64_t event, list;
	size_t work; /* of the list, unless that is immediate */
	struct ze_work asked;
};

struct ze_list {
	uint64_t handle;
	bool is_immediate;
	uint64_t executed;     /* how often since it was last empty */
	bool is_cut;           /* there was more than is kept here */
	struct ze_queue queue; /* an immediate one's */
	VEC(struct ze_work) work;
};

struct ze_process {
	uint32_t process, pid;
	bool is_told; /* by a library inside: what modules become, not what they were made from */
	struct kernel_table kernels;
	struct hash list_index; /* handle -> lists */
	VEC(struct ze_list) lists;
	size_t kept;                         /* pieces of work in them */
	uint64_t second, launches_in_second; /* of event times */
	struct hash queue_index;             /* handle -> queues */
	VEC(struct ze_queue) queues;
	VEC(struct ze_device) devices;
	struct hash awaited_index; /* event -> awaited */
	VEC(struct ze_awaited) awaited;
	struct host_waits waits;
	struct told_code code;
};

/* What describe() tells. */
struct ze_stats {
	uint64_t launches; /* all kinds */
	uint64_t replays;  /* work of lists that were executed again */
	uint64_t unnamed;  /* kernels whose name was not seen */
	uint64_t cut;      /* lists of which not all work could be kept */
	uint64_t located;  /* kernels whose place in the device's memory was told */
	uint64_t timed;    /* launches of which the library inside has told when */
	uint64_t before;   /* work that was told of, and whose launch was not seen */
};

struct ze {
	struct accel_host host;
	struct process_index processes;
	struct hash devices; /* name and place, hashed -> number of the DEVICE record */
	struct ze_stats stats;
	bool wants_times; /* of the library inside */
};

/* ze_device.c */
/* The DEVICE record of a handle, 0: of the only one, or of one that could not be seen. */
int ze_device(struct ze *z, struct ze_process *p, uint64_t handle, uint32_t *ret);
int ze_device_told(struct ze *z, struct ze_process *p, const struct accel_event *e);
int ze_device_pci_told(struct ze_process *p, const struct accel_event *e);
int ze_queue_created(struct ze *z, struct ze_process *p, const struct accel_event *e);
int ze_queue(struct ze *z, struct ze_process *p, uint64_t handle, struct ze_queue *ret);
int ze_list_created(struct ze *z, struct ze_process *p, const struct accel_event *e);
void ze_list_emptied(struct ze_process *p, uint64_t handle);
/* Good until the next call. NULL with 0: there are too many. */
int ze_list(struct ze_process *p, uint64_t handle, struct ze_list **ret);

/* ze_kernel.c */
int ze_module_created(struct ze_process *p, const struct accel_event *e);
int ze_kernel_created(struct ze *z, struct ze_process *p, const struct accel_event *e);
/* What the library inside has told. */
int ze_told(struct ze *z, struct ze_process *p, const struct accel_event *e);
int ze_kernel(struct ze *z, struct ze_process *p, uint64_t handle, struct kernel *ret);

/* ze_launch.c */
/* The library inside has told when. */
int ze_timed(struct ze *z, struct ze_process *p, const struct inject_time *time);
int ze_launched(struct ze *z, struct ze_process *p, const struct accel_event *e);
int ze_executed(struct ze *z, struct ze_process *p, const struct accel_event *e);
int ze_waiting(struct ze *z, struct ze_process *p, const struct accel_event *e);
