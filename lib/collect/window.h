/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The windows of time in which there is recording: those asked for beforehand, and those that begin and
 * end on demand. Knows times and records' times; not what makes them.
 */
#pragma once

#include "base/vec.h"
#include "capture/record.h"
#include "collect/session.h"

#include <stdbool.h>
#include <stdint.h>

struct windows {
	const struct session_window *asked; /* from @start_ns on; borrowed */
	size_t asked_count;
	uint64_t start_ns;               /* 0: not started, and nothing is left out yet */
	VEC(struct session_window) list; /* so far, in clock time; the last one may be open */
};

void windows_release(struct windows *w);
/* All is armed. @is_on: without windows asked for, the first one begins now. */
int windows_start(struct windows *w, uint64_t now_ns, bool is_on);
bool windows_are_open(const struct windows *w);
/* On demand; nothing when it is so already. 1: it was not, 0. */
int windows_switch(struct windows *w, uint64_t now_ns, bool is_on);
/* What was asked for: 1: something is to be switched, to @ret_on. */
int windows_due(const struct windows *w, uint64_t now_ns, bool *ret_on);
/* When that changes next; UINT64_MAX: never. */
uint64_t windows_next_ns(const struct windows *w, uint64_t now_ns);

/* Does the record belong into the capture? Those that are not of a moment do. */
bool windows_want(void *windows, const struct record *record);
