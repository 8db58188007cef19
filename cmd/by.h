/* SPDX-License-Identifier: Apache-2.0 */
/* One table made of the same table for each part of a capture. */
#pragma once

#include "analyze/analyze.h"
#include "export/sheet.h"

/* So many parts have room. */
#define BY_MAX 256

struct by {
	struct sheet sheet; /* with what the parts are called in its first column */
	struct sheet_column *columns;
	size_t left_out; /* parts beyond BY_MAX */
};

/* How one part's table is made, which is released whatever is returned. */
struct by_maker {
	int (*make)(void *data, const struct analysis_filter *filter, struct sheet *t,
		    struct err *err);
	void *data;
};

/* @key as analysis_groups_new() knows it. Release it whatever is returned. */
int by_fill(struct by *by, struct analysis *a, const struct analysis_filter *filter,
	    const char *key, const struct by_maker *maker, struct err *err);
void by_release(struct by *by);
