/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel tells about address spaces as they change: executable mappings, names, fork,
 * exec and exit. Knows the format of perf_event_open(2), not who is a target.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "base/span.h"
#include "collect/perf.h"

#include <stdbool.h>
#include <stdint.h>

enum side_type {
	SIDE_EXEC, /* the process has a new, still empty address space, and @text is its name */
	SIDE_COMM, /* thread @tid is called @text now */
	SIDE_MMAP, /* a mapping became executable */
	SIDE_FORK, /* thread @tid of @pid was born to @parent_tid of @parent_pid */
	SIDE_EXIT, /* it ends */
	SIDE_LOST, /* @lost records did not fit into the ring */
};

struct side_event {
	uint64_t time_ns;
	uint32_t type; /* enum side_type */
	uint32_t pid, tid;
	/* SIDE_MMAP */
	uint64_t start, size, offset, inode;
	uint32_t major, minor;
	uint64_t lost;
	uint32_t parent_pid, parent_tid; /* SIDE_FORK */
	/* Path, "[vdso]", "//anon", or name; borrowed. */
	struct span text;
};

/* The body of one record: 1 and an event, 0 for a record that says nothing to us, -EBADMSG. */
int side_event_parse(struct span record, struct side_event *ret, struct err *err);

struct sideband {
	struct perf_events events;
	struct perf_events
		bell; /* that wakes for each, when all are in scope; else those above do */
	bool is_hushed;
};

typedef int (*side_fn)(void *data, const struct side_event *event);

/* Bytes of a CPU's ring. A mapping with a long path is about 200 bytes: room for 2,500 of them between
 * two looks, and all that perf_event_mlock_kb allows a CPU without privileges. */
#define SIDEBAND_RING_BYTES (512u << 10)
/* Where samples have rings too, of at least 256 KiB. */
#define SIDEBAND_RING_BESIDE (128u << 10)

/* Of all in @scope, and what its threads start. Starts at once. Its rings, and those of its bell, are
 * readable when there is something in them. */
int sideband_open(struct sideband *ret, const struct perf_scope *scope, size_t ring_bytes,
		  struct err *err);
void sideband_close(struct sideband *s);
DEFINE_CLEANUP_EMBEDDED(sideband_close, struct sideband)

/*
 * From here on rings are readable by their fill level only, as whoever is woken for each event has
 * been slowed down by that: a fifth of the time of a process that does nothing and ends. Only where
 * there is a bell: nothing happens else.
 */
int sideband_hush(struct sideband *s, bool is_hushed);

/* Give each event that is there to @fn, ring by ring; a negative value of it ends that. */
int sideband_drain(struct sideband *s, side_fn fn, void *data);
