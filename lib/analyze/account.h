/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a device's time goes: every nanosecond of its window is charged once, to the host code that
 * launched the work it did or the work that it was waiting for.
 *
 * - Busy: some dispatch or copy ran. While several ran at once, each moment is shared between them
 *   in proportion to their durations.
 * - Idle: charged to the launch of the work that ended the gap. From the moment of that launch on
 *   it is `launch in flight`; before, it is what the launching thread was doing: `sync`, `copy` or
 *   `blocked` when records say so, `host late` otherwise.
 *
 * All integers: the charges of a window add up to its length exactly.
 */
#pragma once

#include "analyze/state.h"
#include "analyze/tables.h"

enum window_source {
	WINDOW_ACTIVITY, /* from the first start to the last end of device work */
	WINDOW_STEPS,    /* from the first step's begin to the last one's end */
	WINDOW_GIVEN,    /* by the user */
};

struct window {
	uint64_t begin_ns, end_ns;
	enum window_source source;
};

/* window.c: the window of a device whose ops (numbers, by start) these are; -ENOENT without. */
int window_find(const struct analysis *a, const uint32_t *ops, size_t count, struct window *ret);

/* Of the same program several times, merged, each device belongs to one run: of a window of steps it
 * has the part from the first of its own to the last, without those of a warm-up. */
void window_narrow(struct analysis *a, const uint32_t *ops, size_t count, struct window *window);

struct charge {
	enum account_state state;
	uint32_t op; /* busy: the op. Idle: that which ended the gap; + 1, 0 after the last */
	uint32_t site;
	uint32_t thread; /* who launched; 0: not known */
	uint64_t ns;
	double watts; /* of the device meanwhile; 0: not known */
};

/* What is told, one call each; a negative return value ends the accounting with it. */
struct account_sink {
	void *data;
	/* By row of a queue, which are meant: the device is busy with their work alone; NULL: all. */
	const bool *queues;
	int (*charge)(void *data, const struct charge *charge);
	/* The device was idle; @thread launched what came next, or after the last work that; 0: it
	 * is not known. Before the charges of that time. May be NULL. */
	int (*gap)(void *data, uint32_t thread, uint64_t begin_ns, uint64_t end_ns);
};

struct account;

/* What the accounting of every device needs, made once and kept by @a; NULL: no memory. */
struct account *account_of(struct analysis *a);
void account_free(struct account *acc);
DEFINE_CLEANUP(account_free, struct account *)

struct account_totals {
	struct window window;
	uint64_t ns[ACCOUNT_STATE_COUNT];
	uint64_t ops;           /* that ran inside the window, at least in part */
	uint64_t clipped;       /* of them, those that reach beyond it */
	uint64_t launched_idle; /* those launched when the device had nothing to do */
	uint64_t queued;        /* those launched while it was busy */
	uint64_t longest_gap_ns;
};

/*
 * Account for one device (a row). @given: the window, or NULL to find it. -ENOENT when the device
 * has no work in it (then nothing is charged).
 */
int account_device(struct account *acc, uint32_t device, const struct window *given,
		   const struct account_sink *sink, struct account_totals *ret);
