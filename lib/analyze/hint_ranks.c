/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rank that the others wait for. Ranks are never quite together: one is slow when it is last
 * most of the time, and what the others wait is mostly for it.
 */
#include "analyze/hint_facts.h"
#include "analyze/ranks.h"

#include <inttypes.h>

/* Of the collectives, and of all that ranks wait for each other. */
#define MOSTLY_PERCENT 60

static bool is_most(uint64_t part, uint64_t whole)
{
	return whole && (double)part * 100 >= (double)whole * MOSTLY_PERCENT;
}

int facts_ranks(struct facts *x)
{
	CLEANUP(analysis_ranks_release) struct ranks_summary s = { .rank_count = 0 };
	struct hint_part *p = &x->out->slow_rank;

	*p = (struct hint_part){ .text = "", .where = "" };
	int rc = ranks_find(x->a, x->f, &s);
	for (size_t i = 0; rc >= 0 && i < s.rank_count; i++) {
		const struct rank_summary *r = &s.ranks[i];
		if (!is_most(r->last, s.sets) || !is_most(r->cost_ns, s.wait_ns))
			continue;
		strbuf_reset(&x->text);
		if (r->rank)
			strbuf_printf(&x->text, "Rank %" PRIu32, r->rank - 1);
		else
			strbuf_printf(&x->text, "Process %" PRIu32, r->pid);
		*p = (struct hint_part){ facts_keep(x), "", r->cost_ns, r->last };
	}
	return rc;
}
