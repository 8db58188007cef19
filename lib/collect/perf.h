/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_event_open(2): one event on each CPU, for all processes or for some threads and what they
 * start, with a ring per CPU if wanted; and why it may fail. Knows no record's body.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "base/span.h"
#include "base/vec.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* sysctl kernel.perf_event_paranoid; -2 when it cannot be read. */
int perf_paranoid(void);

/* Whom and where an event counts. All-zero: everyone, everywhere. */
struct perf_scope {
	const uint32_t *tids; /* threads; none: all */
	size_t tid_count;
	const uint32_t *cpus; /* none: all */
	size_t cpu_count;
	int cgroup_fd; /* 0: none; instead of threads */
};

/* Of one CPU. */
struct perf_ring {
	int fd;         /* borrowed; readable when there is something to look at */
	uint8_t *pages; /* perf_event_mmap_page, then the data */
	size_t size;    /* of the data, a power of two */
};

/* All-zero is an empty one. */
struct perf_events {
	VEC(int) fds;
	VEC(struct perf_ring) rings;
	VEC(uint8_t) record; /* the one being looked at, out of the kernel's reach */
	uint64_t malformed;
};

/*
 * Open @attr in @scope; a thread that is gone is left out. With a @size, a power of two of pages, each
 * CPU gets a ring of so many bytes or, where that is not allowed, all a smaller one, down to @least.
 */
struct perf_ring_size {
	size_t bytes, least;
};
int perf_events_open(struct perf_events *ret, const struct perf_event_attr *attr,
		     const struct perf_scope *scope, const struct perf_ring_size *size,
		     const char *what, struct err *err);
void perf_events_close(struct perf_events *e);
DEFINE_CLEANUP_EMBEDDED(perf_events_close, struct perf_events)
/* PERF_EVENT_IOC_ENABLE or the like on all of them. */
int perf_events_control(const struct perf_events *e, unsigned long request);

/* One record, its header included; borrowed. Negative: stop; -EBADMSG: count it and go on. */
typedef int (*perf_record_fn)(void *data, struct span record);

/* Give each record that is there to @fn, ring by ring; a negative value of it ends that. */
int perf_events_drain(struct perf_events *e, perf_record_fn fn, void *data);
