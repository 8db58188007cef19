/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do next: rules over facts, each with the time that is at stake. Knows no capture; what
 * is not known is 0 or "" in the facts, and no rule speaks without the facts it needs.
 */
#pragma once

#include "analyze/summary.h"
#include "base/strbuf.h"

#include <stdbool.h>

/* Some device or host work and its cost. */
struct hint_part {
	const char *text;  /* its name; "" */
	const char *where; /* the code that is to blame; "" */
	uint64_t ns, count;
};

struct hint_facts {
	enum verdict verdict;
	const char *runtime, *device; /* of the device with most work */
	const char *arch;             /* "sm90"; "" */
	uint32_t units;               /* 0: not known */
	bool has_tensor_cores, has_tf32;
	bool has_torch; /* operators of PyTorch were seen */

	uint64_t window_ns, busy_ns, kernel_ns; /* of all devices */
	uint64_t late_ns, flight_ns, sync_ns, blocked_ns;
	bool is_idle_known; /* false: device work is missing in the capture */
	uint64_t ops, launched_idle, replayed;
	uint64_t device_ns; /* sum of all work's durations */

	/* Of the time in which the device was idle, on the thread that launched what came next. */
	struct hint_part function; /* the dearest of the program's own, or what it calls */
	struct hint_part loader;   /* of input data */
	struct hint_part compile;  /* @count: between how many launches */
	struct hint_part allocate; /* device or pinned memory */
	struct hint_part lock;
	struct hint_part sync; /* calls after which the device had nothing to do */
	bool is_sync_pure;     /* they do nothing but wait, so that no graph can hold them */

	struct hint_part pageable; /* copies from and to memory that is not pinned */
	struct hint_part kernel;   /* the dearest */
	struct hint_part gemm, gemm_fp32, gemm_old; /* matrix products; off the tensor cores; made
						     * for the device before: @text its name */
	/* Kernels that move bytes at about the speed of the device's memory: the dearest, and of
	 * all their time and number; and how long the bytes would take at its full speed. */
	struct hint_part memory;
	uint64_t memory_roof_ns;
	struct hint_part small;     /* a kernel with fewer groups than units: @count of them */
	struct hint_part serial;    /* waited for another queue's work: @ns, how many times */
	struct hint_part slow_rank; /* others wait for it in collectives */

	/* Of a program without accelerator, whose window is this CPU time of all threads. */
	uint64_t cpu_ns, elapsed_ns;
	bool has_waits;        /* they were recorded */
	struct hint_part fp64; /* matrix products in double precision, and who asks for most */
	struct hint_part gil;  /* waits of all threads for it */
	uint64_t spin_ns;      /* in OpenMP's libraries themselves */
};

#define HINTS_MAX 3

struct hint {
	const char *rule;
	char *text;
	uint64_t gain_ns; /* of the window, at most */
	double ceiling;   /* window / (window - gain); 0: not stated */
};

struct hints {
	struct hint list[HINTS_MAX];
	size_t count;
};

/* The most gainful first. 0 or -ENOMEM. */
int hints_choose(const struct hint_facts *f, struct hints *ret);
void hints_release(struct hints *h);

/* Names of all rules, for tests; NULL at the end. */
const char *hints_rule(size_t i);

/* From a capture: @p holds the metrics that HINT_METRICS names as far as they have data. */
#define HINT_METRICS                                                                         \
	{                                                                                    \
		"device-time", "launches", "idle-host", "syncs", "sync-idle", "memory-roof", \
			"compute-roof", "cpu-time", "blocked"                                \
	}
struct profile;
int analysis_hints(struct analysis *a, const struct profile *p, const struct analysis_summary *s,
		   const struct analysis_filter *filter, struct hints *ret, struct err *err);
