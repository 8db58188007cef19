/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accelerator runtimes. A runtime states which calls of which libraries are watched (its sites,
 * site.h) and turns their hits into the capture's LAUNCH, DISPATCH, COPY, SYNC, KERNEL, DEVICE,
 * QUEUE and CODE_OBJECT records. It does not know how probes are attached, how hits travel, or
 * where the capture is stored, and runtimes do not know each other.
 *
 * To add a runtime: write lib/accel/NAME.c with one `const struct accel_ops` and its table of
 * sites, declare the ops in runtimes.h and list it in accel.c's array. Nothing else changes. The
 * functions are called in this order, all on the recorder's thread:
 *
 *	probe	can this runtime be watched on this machine? 0, or a negative errno with the reason,
 *		which becomes the capture's "missing.NAME". NULL: always.
 *	open	allocate its state.
 *	set	one of its options, with its value, or NULL where none was given.
 *	wants	whether a site with PROBE_ON_REQUEST is armed; @samples: instructions are to be sampled.
 *	environment	a variable, "KEY=VALUE", for the command that is recorded, malloc'ed; or NULL.
 *	succeed	another recording, which is about to end, has this state; what only one can hold at
 *		a time is moved from it.
 *	start	recording begins: the sites are armed, hits may follow.
 *	seen	a target has the library at this path mapped, or is about to.
 *	event	one hit, in order of time over all threads of all processes.
 *	loaded, unloaded	kernels' code is in a device's memory, or not any more; said by runtimes, in
 *		order of time, for those that sample addresses.
 *	fd, read	a descriptor that is readable when the device itself has something to tell,
 *		and taking that; also called without its being so. These are not events: what is
 *		read may be newer than hits that have not been given yet.
 *	drain	all hits up to a time have been given; a good moment for what could not be done
 *		within event, and to give up waiting for what should have come.
 *	exited	a process is gone: its memory cannot be read any more and its pid may come again.
 *	stop	no more hits will come.
 *	describe  write INFO records: what was collected, what was not, why, and how to mend it.
 *	close	free everything.
 *
 * All but open, event and close may be NULL.
 */
#pragma once

#include "accel/site.h"
#include "accel/wish.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "capture/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct accel;

/* What the recorder lends to the runtimes, for as long as the struct accel lives. */
struct accel_host {
	struct capture_writer *writer;
	/* Unique in the capture: the next number for LAUNCH and DISPATCH correlation, and for
	 * DEVICE, QUEUE, KERNEL and CODE_OBJECT records, never 0. */
	uint64_t (*correlation)(void *data);
	uint32_t (*number)(void *data);
	/* Memory of a target: 0 when all @size bytes could be read, else a negative errno. */
	int (*read)(void *data, uint32_t pid, uint64_t address, void *ret, size_t size);
	/* Is the process recorded? NULL: nothing is known of any. */
	bool (*is_target)(void *data, uint32_t pid);
	void *data;
	/* Set by accel_open(): where accel_code_loaded() goes, and whether this runtime was named by
	 * the user, who wants to hear at once that it cannot be had. */
	struct accel *accel;
	bool is_named;
	/* Another recording will go on: accel_inherit(). */
	bool is_succeeded;
};

enum accel_event_flag {
	ACCEL_EVENT_CUT = 1 << 0,       /* the text was longer than what is here */
	ACCEL_EVENT_FAILED = 1 << 1,    /* memory of a value or the text could not be read: 0 */
	ACCEL_EVENT_UNSTACKED = 1 << 2, /* @stack is an empty one, as none was taken */
	ACCEL_EVENT_EARLIER = 1 << 3,   /* of the recording before this one, and still so */
};

/* One hit of a probe. */
struct accel_event {
	uint64_t time_ns;
	uint32_t pid, tid;
	uint32_t process, thread; /* of the capture */
	uint32_t stack;           /* of the capture; 0 where the site wants none. Its number holds
				     only until the next flush: write the record within event */
	uint32_t flags;           /* enum accel_event_flag */
	const struct probe_site *site;
	uint64_t value[PROBE_VALUES];
	const char *text; /* @text_size bytes; borrowed, and may contain anything */
	size_t text_size;
};

/* What a runtime has lost. */
struct accel_loss {
	const char *what, *why;
	uint64_t count;
};
/* Different ones: the runtimes have some ten between them. */
#define ACCEL_LOSSES_MAX 16

/* A PCI device as a number. */
#define ACCEL_PCI(domain, bus, device, function)                                     \
	((uint32_t)(domain) << 16 | (uint32_t)(bus) << 8 | (uint32_t)(device) << 3 | \
	 (uint32_t)(function))

/* A kernel's code in a device's memory. */
struct accel_code {
	uint64_t time_ns; /* from then on; of the unloading: until then */
	/* Of the capture; kernel 0: it is some part of a module. */
	uint32_t process, kernel, device;
	uint32_t pci;           /* ACCEL_PCI() of the device; 0: not known */
	uint64_t address, size; /* for the device */
	bool has_all;           /* of this process, all code is told of */
};

/* An option of a runtime, as in --accel NAME:KEY=VALUE. */
struct accel_option {
	const char *key;
	const char *value; /* what it is, for help; NULL: it takes none */
};

/* How a runtime lets a library of ours into a process that it starts in: by a variable of the
 * environment that holds the library's path. And into one that runs, where it maps @runtime: what is
 * to be called then is @function. */
struct accel_door {
	const char *variable, *library;
	bool is_list;      /* several may be named, with colons between */
	const char *needs; /* soname without which this machine has no use for it; NULL: none */
	const char *runtime, *function; /* as probe_site's library */
};

struct accel_ops {
	const char *name;               /* as in DEVICE records: "opencl" */
	const struct probe_site *sites; /* up to one without a library */
	/* Sonames of the libraries, up to a NULL: what the system has of them is probed before a
	 * command starts, so that its first calls are seen. */
	const char *const *libraries;
	struct accel_door door;             /* NULLs: it has none */
	const struct accel_option *options; /* up to one without a key; NULL: it has none */

	int (*probe)(struct err *why);
	int (*open)(void **ret, const struct accel_host *host, struct err *err);
	int (*set)(void *runtime, const char *key, const char *value, struct err *err);
	bool (*wants)(void *runtime, const struct probe_site *site, bool samples);
	int (*environment)(void *runtime, char **ret);
	int (*succeed)(void *runtime, void *before, struct err *err);
	int (*start)(void *runtime, struct err *err);
	int (*seen)(void *runtime, const char *path);
	int (*event)(void *runtime, const struct accel_event *event);
	int (*loaded)(void *runtime, const struct accel_code *code);
	int (*unloaded)(void *runtime, const struct accel_code *code);
	int (*fd)(void *runtime); /* -1: not now */
	int (*read)(void *runtime, uint64_t now_ns);
	int (*drain)(void *runtime, uint64_t until_ns);
	int (*exited)(void *runtime, uint32_t process, uint64_t time_ns);
	int (*stop)(void *runtime);
	int (*describe)(void *runtime);
	void (*close)(void *runtime);
};

/* All runtimes that can be watched here, or those of them that @wishes name; NULL: no wishes. Errors of
 * a writer are returned as they are. */
int accel_open(struct accel **ret, const struct accel_host *host, const struct accel_wishes *wishes,
	       struct err *err);
/* NULL is fine. */
void accel_free(struct accel *a);
DEFINE_CLEANUP(accel_free, struct accel *)

/* Their sites, numbered from 0; they live as long as the program. */
size_t accel_site_count(const struct accel *a);
const struct probe_site *accel_site(const struct accel *a, size_t number);

/* Is one with PROBE_ON_REQUEST to be armed, where instructions are sampled or not? */
bool accel_wants(const struct accel *a, const struct probe_site *site, bool samples);

/* What the runtime number @number, from 0, has for a command's environment, malloc'ed; NULL: nothing.
 * 1, 0 behind the last one, or -ENOMEM. */
int accel_environment(const struct accel *a, size_t number, char **ret);

/* The sonames that runtimes name, by a number from 0; NULL behind the last. */
const char *accel_library(size_t number);

/* The doors of the runtimes that have one, by a number from 0; NULL behind the last. */
const struct accel_door *accel_door(const struct accel *a, size_t number);

int accel_succeed(struct accel *a, struct accel *before, struct err *err);
int accel_start(struct accel *a, struct err *err);
/*
 * After accel_start() of a recording that goes on and the end of the one before: what that was told and still holds.
 * @process_of: the process's number in the new capture; 1, 0 for one that is not recorded, or a negative errno.
 */
int accel_inherit(struct accel *a, const struct accel *before,
		  int (*process_of)(void *data, uint32_t pid, uint32_t *ret), void *data);
int accel_seen(struct accel *a, const char *path);
int accel_event(struct accel *a, const struct accel_event *event);
/*
 * For runtimes, within event: a kernel's code was loaded at an address, or what overlaps the addresses
 * of @code's process (@size 0: all of it) is gone. Samples of addresses in it are that kernel's.
 * Fine without @a.
 */
int accel_code_loaded(struct accel *a, const struct accel_code *code);
int accel_code_unloaded(struct accel *a, const struct accel_code *code);
/* One descriptor for all; -1: there is none. */
int accel_fd(const struct accel *a);
int accel_read(struct accel *a, uint64_t now_ns);
int accel_drain(struct accel *a, uint64_t until_ns);
int accel_exited(struct accel *a, uint32_t process, uint64_t time_ns);
int accel_stop(struct accel *a);
int accel_describe(struct accel *a);
/* Losses so far, by a number from 0; count 0 behind the last one. */
struct accel_loss accel_loss(const struct accel *a, size_t number);
