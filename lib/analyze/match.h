/* SPDX-License-Identifier: Apache-2.0 */
/* Which device work of one capture is which of another's. */
#pragma once

#include "analyze/work.h"

/* What was equal, the most telling first. */
enum match_level {
	MATCH_PATH,   /* call path, op and shapes; without an op the kernel's name */
	MATCH_OP,     /* op and shapes */
	MATCH_FAMILY, /* what the kernel does */
	MATCH_NAME,
	MATCH_NOTHING,
	MATCH_LEVEL_COUNT
};

/* "op + shape": how people are told. */
const char *match_level_name(enum match_level level);

enum match_side {
	MATCH_BASE,
	MATCH_NEW,
	MATCH_SIDES
};

/* What is the same to a reader: an op with its shapes, else a kernel. */
struct match_row {
	const char *name;                /* "aten::mm [[8,16],[16,4]]" */
	const char *kernel[MATCH_SIDES]; /* that took most of it; "" when there is none */
	enum match_level level;          /* the least telling that was needed */
	uint32_t made;                   /* in which order; for match.c */
	uint64_t ns[MATCH_SIDES], count[MATCH_SIDES];
};

struct match {
	const struct work *work[MATCH_SIDES];
	uint32_t *item_rows[MATCH_SIDES];  /* by item: its row */
	uint8_t *item_levels[MATCH_SIDES]; /* by item: enum match_level */
	struct match_row *rows;            /* largest change first */
	size_t row_count;
	uint64_t ns[MATCH_SIDES][MATCH_LEVEL_COUNT]; /* of the time, by level */
	struct strtab *texts;                        /* of rows */
};

/* Both are borrowed. Release it whatever is returned. 0 or -ENOMEM. */
int match_work(const struct work *base, const struct work *now, struct match *ret);
void match_release(struct match *m);
DEFINE_CLEANUP_EMBEDDED(match_release, struct match)
