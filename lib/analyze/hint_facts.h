/* SPDX-License-Identifier: Apache-2.0 */
/* What the hints go by, found in a capture. Private to this module. */
#pragma once

#include "analyze/filter.h"
#include "analyze/hints.h"
#include "analyze/topic.h"
#include "profile/profile.h"

struct facts {
	struct analysis *a;
	const struct profile *p;
	const struct filter *f;
	struct hint_facts *out;
	const uint8_t *topics; /* of frames, while facts_host() runs */
	struct strtab texts;   /* that the facts refer to */
	struct strbuf text;
	uint64_t memory_ns; /* of the memory-bound kernel that is named */
	int rc;             /* the first thing that went wrong */
};

/* The text in @x->text, kept. "" once memory has run out. */
const char *facts_keep(struct facts *x);
/* "forward (model.py:12)", the nearest code at or above @node that somebody can change; "". */
const char *facts_where(struct facts *x, uint32_t node);

static inline struct frame facts_frame(const struct facts *x, uint32_t node)
{
	return profile_frame_get(x->p, profile_node(x->p, node).frame);
}

static inline bool facts_is_own(const struct frame *f)
{
	return f->kind != FRAME_SCOPE &&
	       (f->class == FRAME_CLASS_OWN || f->class == FRAME_CLASS_MODEL);
}

/* hint_moments.c: at how many moments between launches each came up. 0 or -ENOMEM, also below. */
int facts_moments(struct facts *x, uint64_t ret[TOPIC_HINT_COUNT]);
int facts_syncs(struct facts *x);

/* hint_cpu.c: of a program without accelerator. */
int facts_cpu(struct facts *x, const struct analysis_summary *s);
/* hint_host.c, hint_device.c, hint_queues.c, hint_ranks.c. */
int facts_host(struct facts *x);
int facts_device(struct facts *x);
int facts_queues(struct facts *x);
int facts_ranks(struct facts *x);
