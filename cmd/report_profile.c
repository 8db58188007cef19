/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/report.h"

#include "analyze/hints.h"
#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

/* Metrics of all views, of the tree, and of the hints. */
#define WANTED_MAX (REPORT_VIEWS * VIEW_METRICS_MAX + TREE_METRICS_MAX * TREE_METRIC_PARTS + 16)

/* The metrics that the views to be shown need and that have data. */
struct wanted {
	const char *list[WANTED_MAX];
	size_t count;
};

static void want(struct wanted *w, const struct analysis *a, const char *metric)
{
	for (size_t i = 0; i < w->count; i++) {
		if (!strcmp(w->list[i], metric))
			return;
	}
	if (analysis_has_metric(a, metric))
		w->list[w->count++] = metric;
}

static void want_hints(struct wanted *w, const struct analysis *a)
{
	static const char *const metrics[] = HINT_METRICS;
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
		want(w, a, metrics[i]);
}

static void want_tree(struct wanted *w, const struct report_options *opt, const struct analysis *a)
{
	if (!opt->tree.metric_count)
		want(w, a, opt->sort ? opt->sort : analysis_default_metric(a));
	for (size_t i = 0; i < opt->tree.metric_count; i++) {
		const struct tree_metric *m = &opt->tree.metrics[i];
		for (size_t k = 0; k < m->part_count; k++)
			want(w, a, m->parts[k]);
		/* Asked for by name: analysis_profile() says why there is none. */
		if (!analysis_has_metric(a, m->parts[0]))
			w->list[w->count++] = m->parts[0];
	}
}

static void want_views(struct wanted *w, const struct report_options *opt, const struct analysis *a)
{
	for (size_t i = 0; i < REPORT_VIEWS; i++) {
		if (opt->view && opt->view != &report_views[i])
			continue;
		for (size_t k = 0; k < VIEW_METRICS_MAX && report_views[i].metrics[k]; k++)
			want(w, a, report_views[i].metrics[k]);
	}
	if (!opt->view)
		want_hints(w, a);
	if (opt->view && opt->view->make == view_metrics) {
		const char *metric;
		for (size_t i = 0; (metric = analysis_metric(i)); i++)
			want(w, a, metric);
	}
	if (opt->view && opt->view->make == view_tree)
		want_tree(w, opt, a);
}

/* No more than what is shown: each metric costs time for every record and room on every node. */
int report_profile_make(struct profile **ret, const struct report_options *opt, struct analysis *a,
			struct err *err)
{
	bool is_tree = opt->view && opt->view->make == view_tree;
	struct wanted w = { .count = 0 };
	struct analysis_profile_options what = {
		.filter = opt->filter,
		/* Only the tree gets shorter by folding; the others go by single frames. */
		.full = opt->full || !is_tree,
		.no_inline = opt->no_inline,
		.kernels_only = !opt->view || !opt->view->has_places,
	};

	want_views(&w, opt, a);
	what.metrics = w.list;
	what.metric_count = w.count;
	if (w.count)
		return analysis_profile(a, &what, ret, err);
	CLEANUP(profile_free) struct profile *empty = NULL;
	if (profile_new(&empty) < 0 || profile_finish(empty) < 0)
		return err_set(err, -ENOMEM, "cannot make the report");
	*ret = TAKE(empty);
	return 0;
}
