/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of `report`, each made from the profile and the summary. Knows no file and no option. */
#pragma once

#include "analyze/summary.h"
#include "export/sheet.h"
#include "profile/profile.h"

struct tree_options;

struct view {
	struct analysis *a;
	const struct profile *p; /* every metric with data */
	const struct analysis_summary *s;
	const struct analysis_filter *filter;
	const char *sort;     /* key of a column; NULL: the view's own order */
	size_t limit;         /* rows; the rest is summed up in one */
	bool is_page;         /* among other tables: what is next to nothing is left out */
	bool without_callers; /* kernels only */
	struct tree_options *tree;
};

/*
 * Fill @t, which the caller releases whatever is returned. -EINVAL, with a text, when there is no
 * such column to sort by or nothing to show.
 */
int view_kernels(struct sheet *t, const struct view *v, struct err *err);
int view_code(struct sheet *t, const struct view *v, struct err *err);
int view_functions(struct sheet *t, const struct view *v, struct err *err);
int view_tree(struct sheet *t, const struct view *v, struct err *err);
int view_tree_sorted(struct sheet *t, const struct view *v, struct err *err);
int view_metrics(struct sheet *t, const struct view *v, struct err *err);
int view_processes(struct sheet *t, const struct view *v, struct err *err);
int view_quality(struct sheet *t, const struct view *v, struct err *err);

/* Device samples by source line, instruction, stall reason; for profiles with what is below kernels. */
int view_lines(struct sheet *t, const struct view *v, struct err *err);
int view_instructions(struct sheet *t, const struct view *v, struct err *err);
int view_stalls(struct sheet *t, const struct view *v, struct err *err);

/* Where the devices' time goes, and what the host did while they were idle; without limits. */
int view_where(struct sheet *t, const struct view *v, struct err *err);
int view_idle_host(struct sheet *t, const struct view *v, struct err *err);

/* By operator of a framework, by module of a model. */
int view_ops(struct sheet *t, const struct view *v, struct err *err);
int view_modules(struct sheet *t, const struct view *v, struct err *err);

/* By operator and the shapes of its inputs; kernels, and how near they come to what the device can. */
int view_shapes(struct sheet *t, const struct view *v, struct err *err);
int view_roofline(struct sheet *t, const struct view *v, struct err *err);

/* Iterations, and how much they differ; calls that waited for a device. */
int view_steps(struct sheet *t, const struct view *v, struct err *err);
int view_syncs(struct sheet *t, const struct view *v, struct err *err);

/* What the program is at: importing, compiling, warming up, steadily at work. */
int view_phases(struct sheet *t, const struct view *v, struct err *err);

/* Memory of the devices, and the code that allocated it. */
int view_memory(struct sheet *t, const struct view *v, struct err *err);

/* Ranks of one job, and what they do together: who waits, and for whom. */
int view_ranks(struct sheet *t, const struct view *v, struct err *err);

/* How launches reach the devices over time; what devices do at once. */
int view_queue(struct sheet *t, const struct view *v, struct err *err);
int view_overlap(struct sheet *t, const struct view *v, struct err *err);

/* "GPU" or "device": what to call what the summary is about. */
const char *view_device_word(const struct analysis_summary *s);
/* -EINVAL with the columns that can be sorted by. */
int view_check_sort(const char *sort, const char *const *keys, size_t count, struct err *err);
