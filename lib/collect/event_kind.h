/* SPDX-License-Identifier: Apache-2.0 */
/* The events that samples can be taken on, by the names that perf gives them. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define EVENT_KIND_NAME_BYTES 96

struct event_kind {
	char name[EVENT_KIND_NAME_BYTES]; /* as given */
	uint32_t type;                    /* PERF_TYPE_... */
	uint64_t config;
	bool user_only, kernel_only; /* ":u", ":k" */
	bool is_tracepoint;
	bool is_time; /* equal numbers of it are equal CPU time, more or less: cycles and clocks */
	bool is_ns;   /* it counts nanoseconds */
};

/*
 * "cycles", "page-faults", "sched:sched_switch", "r1c2" (a raw one, in hex), with ":u" or ":k" behind
 * it or not. -EINVAL: there is no such event, in general or (a tracepoint) here; the text says which
 * there are.
 */
int event_kind_parse(const char *text, struct event_kind *ret, struct err *err);
