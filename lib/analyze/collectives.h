/* SPDX-License-Identifier: Apache-2.0 */
/* Device work that ranks do together, one item each on every rank. Private to this module. */
#pragma once

#include "analyze/filter.h"
#include "base/strtab.h"

struct collective {
	uint64_t start_ns, end_ns;
	/* The same on all ranks: of what group and operation it is, and where a trace counts
	 * them, which one. */
	uint32_t key;
	uint32_t name; /* in the texts */
	uint32_t rank; /* in `processes` */
	uint32_t set;  /* + 1, of those that were matched; 0: it was not */
	bool is_numbered;
	bool is_rooted; /* one rank gives or takes, and need not wait for the others */
};

struct collectives {
	VEC(struct collective) list; /* by key, then start */
	VEC(uint32_t) processes;     /* rows, by rank, of the ranks that have any */
	uint32_t sets;               /* numbers of sets that were given out */
	uint64_t largest_group;      /* 0: not known */
	bool has_clock;              /* the same on all ranks, as far as is known */
	struct strtab keys;
};

/* What passes @f. Names go to @texts. Release it whatever is returned: 0 or -ENOMEM. */
int collectives_find(struct collectives *c, struct analysis *a, const struct filter *f,
		     struct strtab *texts);
/* Which are one collective, on several ranks. 0 or -ENOMEM. */
int collectives_match(struct collectives *c);
void collectives_release(struct collectives *c);
DEFINE_CLEANUP_EMBEDDED(collectives_release, struct collectives)
