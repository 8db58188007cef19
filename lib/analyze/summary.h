/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers at the top of a report: what limits the accelerator, and how far all this is to be
 * trusted. Knows no words. */
#pragma once

#include "analyze/analyze.h"
#include "analyze/state.h"
#include "capture/record.h"

/* What takes the largest part of the devices' time. */
enum verdict {
	VERDICT_NONE, /* no device time in the capture */
	VERDICT_KERNEL,
	VERDICT_HOST,   /* the device waits for the host to launch, wake up or synchronise */
	VERDICT_LAUNCH, /* work is launched and the device does not start */
	VERDICT_COPY,
	VERDICT_COMMUNICATION,
	VERDICT_UNKNOWN, /* nobody is known to have launched most of it */
};

struct device_summary {
	const char *name; /* borrowed from the capture, as all texts here; "" when not known */
	const char *runtime;
	uint32_t index;
	uint64_t begin_ns, end_ns; /* its window */
	uint64_t ns[ACCOUNT_STATE_COUNT];
	uint64_t copy_ns, collective_ns; /* of the busy time */
	uint64_t outlier_ns; /* of it, in work that is listed as an outlier; in neither */
	/* Where counters tell of power: microjoules, and of those of the busy time. */
	uint64_t energy_uj[ACCOUNT_STATE_COUNT], copy_uj, collective_uj;
	uint64_t ops, clipped, launched_idle, queued;
	uint64_t longest_gap_ns; /* that it was idle at once */
};

/* The busy time of ordinary kernels. */
static inline uint64_t device_kernel_ns(const struct device_summary *d)
{
	return d->ns[ACCOUNT_BUSY] - d->copy_ns - d->collective_ns - d->outlier_ns;
}

/* Work that took so much longer than its like that it says nothing of it. */
struct outlier_summary {
	const char *name; /* mangled */
	uint32_t device;  /* index */
	uint32_t kind;    /* enum launch_kind */
	uint64_t start_ns, ns, median_ns;
};

struct lost_summary {
	const char *what, *why;
	uint64_t count;
};

struct info_summary {
	const char *key, *value;
};

struct analysis_summary {
	enum verdict verdict;
	struct device_summary *devices; /* those with work in their window */
	size_t device_count;
	struct device_summary all; /* their sum */

	bool has_energy;
	bool is_window_of_steps;
	uint64_t steps;        /* in the windows; of the one there is, its name */
	uint64_t device_steps; /* the same, added up over the devices */
	uint64_t warmup_steps; /* that were left out, before these */
	const char *step_name;

	uint64_t cpu_samples;                     /* of host code */
	uint64_t cpu_rooted;                      /* of them, those whose stack is whole */
	uint64_t cpu_by_cause[STACK_CAUSE_COUNT]; /* the others */
	uint64_t cpu_python_late;                 /* through an interpreter not found yet */
	uint64_t span_ns, span_rooted_ns;         /* exact host time of imports, the same way */
	uint64_t launches, launches_rooted;
	uint64_t launches_before, launches_replayed;
	uint64_t launches_lent; /* they are shown under another one's stack, as they have none */
	/* Launches of whole graphs of which no work is in the capture: idle time is not to be
	 * trusted. */
	uint64_t graphs, graphs_unrecorded;
	/* Ranks with collectives that were matched; what they waited for each other in these. */
	uint64_t ranks, rank_wait_ns;
	uint64_t ops, ops_linked; /* dispatches and copies; those whose launch is known */
	bool has_python;
	uint64_t ops_under_python;
	uint64_t samples; /* in accelerator code, attributed by ... */
	uint64_t by_correlation, by_overlap, by_launches, by_nobody;

	struct outlier_summary *outliers;
	size_t outlier_count;
	struct lost_summary *lost;
	size_t lost_count;
	struct info_summary *missing; /* INFO records "missing.*", key without that */
	size_t missing_count;

	const char *source;                              /* "record", "kineto"; "" */
	const char *tool, *host, *kernel, *arch, *event; /* of the header; "" */
	uint64_t frequency;
	uint64_t begin_ns, end_ns;
	bool has_end;
	uint64_t recorder_cpu_ns, probe_ns;
	int64_t exit_status; /* -1: none */
	/* what was odd in the capture */
	uint64_t odd_times, reused_correlations, incomplete_code_objects;
};

/* For what @filter leaves. -EINVAL for a filter that cannot be understood; -ENOMEM. */
int analysis_summarize(struct analysis *a, const struct analysis_filter *filter,
		       struct analysis_summary *ret, struct err *err);
/* Only what the capture says of itself: `lost`, `missing`, and from `source` on. */
int analysis_describe(struct analysis *a, struct analysis_summary *ret, struct err *err);
void analysis_summary_release(struct analysis_summary *s);

struct step_summary {
	uint64_t number;  /* what --step takes */
	const char *name; /* "": found by the work that repeats */
	bool is_warmup;   /* one of the first, and far longer than those after it */
	uint32_t rank;    /* + 1; 0: not known */
	uint64_t begin_ns, end_ns;
	uint64_t busy_ns; /* of the devices meanwhile */
	/* The work launched meanwhile; of steps found by the work, that which ran. */
	uint64_t device_ns, ops;
};

/* The steps that lie in what @filter leaves, malloc'ed. Errors as analysis_summarize(). */
int analysis_step_list(struct analysis *a, const struct analysis_filter *filter,
		       struct step_summary **ret, size_t *ret_count, struct err *err);

struct process_summary {
	uint32_t pid, rank; /* rank + 1; 0: not known */
	const char *comm;   /* borrowed from the capture */
	uint32_t threads;
	uint64_t cpu_samples, launches;
	uint64_t device_ns; /* of the work that it launched */
};

/* Every process for which something is known, malloc'ed, most device time first, then most
 * samples. Errors as analysis_summarize(). */
int analysis_processes(struct analysis *a, const struct analysis_filter *filter,
		       struct process_summary **ret, size_t *ret_count, struct err *err);
