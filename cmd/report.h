/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `report` share: its options, the list of its tables, its first page. */
#pragma once

#include "analyze/analyze.h"
#include "base/vec.h"
#include "cmd/tree_options.h"
#include "cmd/view.h"

enum format {
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_CSV,
};

/* Most metrics that a view needs. */
#define VIEW_METRICS_MAX 6

struct view_ops {
	const char *name;
	int (*make)(struct sheet *t, const struct view *v, struct err *err);
	const char *metrics[VIEW_METRICS_MAX]; /* those with data are in the profile */
	bool has_places;                       /* needs what is below kernels; only on its own */
};

/* Every view, in the order of JSON; the one called so, or NULL. */
#define REPORT_VIEWS 23
extern const struct view_ops report_views[REPORT_VIEWS];
const struct view_ops *report_view_find(const char *name);

struct report_options {
	VEC(const char *) paths; /* ranks of one job */
	struct analysis_filter filter;
	const struct view_ops *view; /* NULL: the first page */
	const char *sort;
	size_t limit; /* 0: not given */
	bool full, no_inline;
	enum format format;
	const char *by; /* NULL: not split */
	struct tree_options tree;
};

/* The view's table as text of lines up to @width, or nothing when it has no rows. */
int report_view_add(struct strbuf *out, const struct view *v, const struct view_ops *ops,
		    unsigned width, struct err *err);

/* What stands without --view: verdict, trust, the tables that matter, and what to do next. */
int report_page_add(struct strbuf *out, const struct view *v, unsigned width, struct err *err);

/* The profile with the metrics that the views to be shown need; release it by profile_free(). */
int report_profile_make(struct profile **ret, const struct report_options *opt, struct analysis *a,
			struct err *err);
