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
 *	start	recording begins: the sites are armed, hits may follow.
 *	event	one hit, in order of time over all threads of all processes.
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
#include "base/cleanup.h"
#include "base/err.h"
#include "capture/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the recorder lends to the runtimes, for as long as the struct accel lives. */
struct accel_host {
	struct capture_writer *writer;
	/* Unique in the capture: the next number for LAUNCH and DISPATCH correlation, and for
	 * DEVICE, QUEUE, KERNEL and CODE_OBJECT records, never 0. */
	uint64_t (*correlation)(void *data);
	uint32_t (*number)(void *data);
	/* Memory of a target: 0 when all @size bytes could be read, else a negative errno. */
	int (*read)(void *data, uint32_t pid, uint64_t address, void *ret, size_t size);
	void *data;
};

enum accel_event_flag {
	ACCEL_EVENT_CUT = 1 << 0,    /* the text was longer than what is here */
	ACCEL_EVENT_FAILED = 1 << 1, /* memory of a value or the text could not be read: 0 */
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

/* How a runtime lets a library of ours into a process that it starts in: by a variable of the
 * environment that holds the library's path. And into one that runs, where it maps @runtime: what is
 * to be called then is @function. */
struct accel_door {
	const char *variable, *library;
	const char *runtime, *function; /* as probe_site's library */
};

struct accel_ops {
	const char *name;               /* as in DEVICE records: "opencl" */
	const struct probe_site *sites; /* up to one without a library */
	/* Sonames of the libraries, up to a NULL: what the system has of them is probed before a
	 * command starts, so that its first calls are seen. */
	const char *const *libraries;
	struct accel_door door; /* NULLs: it has none */

	int (*probe)(struct err *why);
	int (*open)(void **ret, const struct accel_host *host, struct err *err);
	int (*start)(void *runtime, struct err *err);
	int (*event)(void *runtime, const struct accel_event *event);
	int (*drain)(void *runtime, uint64_t until_ns);
	int (*exited)(void *runtime, uint32_t process, uint64_t time_ns);
	int (*stop)(void *runtime);
	int (*describe)(void *runtime);
	void (*close)(void *runtime);
};

/* All runtimes that can be watched here. Errors of a writer are returned as they are. */
struct accel;

int accel_open(struct accel **ret, const struct accel_host *host, struct err *err);
/* NULL is fine. */
void accel_free(struct accel *a);
DEFINE_CLEANUP(accel_free, struct accel *)

/* Their sites, numbered from 0; they live as long as the program. */
size_t accel_site_count(const struct accel *a);
const struct probe_site *accel_site(const struct accel *a, size_t number);

/* The sonames that runtimes name, by a number from 0; NULL behind the last. */
const char *accel_library(size_t number);

/* The doors of the runtimes that have one, by a number from 0; NULL behind the last. */
const struct accel_door *accel_door(size_t number);

int accel_start(struct accel *a, struct err *err);
int accel_event(struct accel *a, const struct accel_event *event);
int accel_drain(struct accel *a, uint64_t until_ns);
int accel_exited(struct accel *a, uint32_t process, uint64_t time_ns);
int accel_stop(struct accel *a);
int accel_describe(struct accel *a);
