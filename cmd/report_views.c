/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/report.h"

#include <string.h>

const struct view_ops report_views[] = {
	{ "kernels", view_kernels, { "device-time", "launches", "device-samples" }, false },
	{ "code",
	  view_code,
	  { "wall", "launches", "idle-host", "cpu-time", "cpu-samples", "blocked" },
	  false },
	{ "functions", view_functions, { "cpu-samples", "cpu-time" }, false },
	{ "tree", view_tree, { NULL }, true }, /* the metrics to be shown */
	{ "lines", view_lines, { "device-samples" }, true },
	{ "instructions", view_instructions, { "device-samples" }, true },
	{ "stalls", view_stalls, { "device-samples" }, true },
	{ "ops", view_ops, { "device-time", "launches", "idle-host" }, false },
	{ "modules", view_modules, { "device-time", "launches", "idle-host" }, false },
	{ "shapes", view_shapes, { NULL }, false },
	{ "roofline", view_roofline, { NULL }, false },
	{ "steps", view_steps, { NULL }, false },
	{ "phases", view_phases, { NULL }, false },
	{ "memory", view_memory, { "memory-peak", "memory-allocated", "allocations" }, false },
	{ "ranks", view_ranks, { NULL }, false },
	{ "syncs", view_syncs, { "syncs", "sync-wait", "sync-idle" }, false },
	{ "queue", view_queue, { NULL }, false },
	{ "overlap", view_overlap, { NULL }, false },
	{ "processes", view_processes, { NULL }, false },
	{ "where", view_where, { NULL }, false },
	{ "idle-host", view_idle_host, { "idle-host" }, false },
	{ "quality", view_quality, { NULL }, false },
	{ "metrics", view_metrics, { NULL }, true }, /* all of them */
};

const struct view_ops *report_view_find(const char *name)
{
	for (size_t i = 0; i < REPORT_VIEWS; i++) {
		if (!strcmp(report_views[i].name, name))
			return &report_views[i];
	}
	return NULL;
}

int report_view_add(struct strbuf *out, const struct view *v, const struct view_ops *ops,
		    unsigned width, struct err *err)
{
	struct sheet t = { 0 };
	int rc = ops->make(&t, v, err);
	if (!rc && sheet_rows(&t))
		rc = sheet_render(&t, width, out);
	sheet_release(&t);
	return rc;
}
