/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of a profile in the order that they are shown in, with those that stand for merged
 * layers among them. Knows no encoding.
 */
#pragma once

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/frame.h"

#include <stdint.h>

struct profile;

#define TABLE_NONE UINT32_MAX

struct table_row {
	struct frame frame;
	uint32_t merged; /* row that stands for it when layers are merged, or TABLE_NONE */
};

struct table {
	struct table_row *rows;
	uint32_t row_count;
	uint32_t *row_of; /* by number of the frame in the profile */
	struct arena names;
};

void table_release(struct table *t);
DEFINE_CLEANUP_EMBEDDED(table_release, struct table)
/* Borrows the profile's strings. 0 or -ENOMEM. */
int table_make(const struct profile *p, struct table *ret);
