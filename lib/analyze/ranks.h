/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of one job: each of their collectives found again on the other ranks, and its time split
 * into waiting for the last one to join and transferring. A rank is a process with collectives.
 *
 * A collective lasts until all ranks have joined, so that the rank that spends least time in it is
 * the last, what it spends is the transfer, and what any other spends more is waiting. That needs no clock
 * that ranks share. Of ranks that are not in the capture nothing is known: what the others wait
 * for them together looks like transfer.
 */
#pragma once

#include "analyze/analyze.h"
#include "base/strtab.h"

struct rank_summary {
	uint32_t rank; /* + 1; 0: not known */
	uint32_t pid;
	const char *comm; /* borrowed from the capture, as all texts here */
	uint64_t collectives, matched;
	uint64_t time_ns;              /* of all of its collectives */
	uint64_t wait_ns, transfer_ns; /* of the matched ones */
	uint64_t last;                 /* how many it joined last */
	uint64_t cost_ns;              /* how long the others waited for it in these */
};

struct collective_summary {
	const char *name; /* "all_reduce" */
	uint64_t count, matched, time_ns, wait_ns, transfer_ns;
	size_t slowest;      /* in `ranks`: which is last most expensively */
	uint64_t last;       /* of the sets, those that it joined last */
	uint64_t slowest_ns; /* how long the others waited for it */
};

struct ranks_summary {
	struct rank_summary *ranks; /* by rank */
	size_t rank_count;
	struct collective_summary *list; /* by time */
	size_t count;
	uint64_t sets, wait_ns;
	uint64_t world; /* ranks of the job, as far as the capture tells; 0: it does not */
	struct strtab texts;
};

/* For what @filter leaves. -EINVAL for a filter that cannot be understood; -ENOMEM. */
int analysis_ranks(struct analysis *a, const struct analysis_filter *filter,
		   struct ranks_summary *ret, struct err *err);
void analysis_ranks_release(struct ranks_summary *s);
DEFINE_CLEANUP_EMBEDDED(analysis_ranks_release, struct ranks_summary)

/* The same for a filter that is resolved. 0 or -ENOMEM. */
struct filter;
int ranks_find(struct analysis *a, const struct filter *f, struct ranks_summary *ret);
