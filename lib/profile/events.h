/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened when, for formats that show time: who takes it fills in the sink, who knows it calls
 * it. An event stands on a node of a tree, which is its call path. Knows no record.
 */
#pragma once

#include "profile/profile.h"

enum event_kind {
	EVENT_KIND_SAMPLE, /* of host code; @value: how many */
	EVENT_KIND_SPAN,   /* the thread was there for @duration_ns, exactly */
	EVENT_KIND_LAUNCH, /* host code asked for device work; duration 0: not known */
	EVENT_KIND_SYNC,   /* host code waited for the device */
	EVENT_KIND_WORK,   /* the device did it; @node is the kernel's */
	EVENT_KIND_COPY,   /* the same for copies and fills; @value: bytes */
	EVENT_KIND_IDLE,   /* the device had nothing to do; @node says why */
	EVENT_KIND_SCOPE,  /* annotation or step, @name */
	EVENT_KIND_COUNTER /* @name has the value @real from now on */
};

enum track_kind {
	TRACK_THREAD,
	TRACK_QUEUE, /* of a device */
	TRACK_IDLE,  /* what a device waited for */
};

/* A line of time. Numbers start at 0 and are told in order, each before its first event. Texts are
 * "" when not known, and borrowed for as long as the tree lives. */
struct event_track {
	enum track_kind kind;
	uint32_t pid, tid;
	const char *process, *thread;
	uint32_t device;        /* index, as its runtime counts */
	uint32_t device_number; /* unique */
	const char *device_name;
	uint64_t queue; /* handle or number of the stream */
};

/* Flows of work whose launch was before the recording, and of work that nobody launched. */
#define EVENT_FLOW_BEFORE  1ull
#define EVENT_FLOW_UNKNOWN ((1ull << 53) - 1) /* the largest that JavaScript can tell apart */

struct event {
	enum event_kind kind;
	uint32_t track;
	uint32_t node;
	uint64_t time_ns, duration_ns;
	uint64_t flow; /* the same for a launch and its work; 0: it is neither */
	uint64_t value;
	double real;
	const char *name; /* borrowed for the call */
};

/*
 * A negative return value ends it. Host events come first, in order of time over all threads; then
 * the work and idle time of each device, in order of their beginning; then scopes and counters.
 */
struct event_sink {
	void *data;
	/* Before everything else; the tree grows while events come, and lives until end(). */
	int (*begin)(void *data, const struct profile *p);
	int (*track)(void *data, uint32_t number, const struct event_track *track);
	int (*event)(void *data, const struct event *event);
	int (*end)(void *data); /* behind the last one; not after a failure */
};
