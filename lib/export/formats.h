/* SPDX-License-Identifier: Apache-2.0 */
/* The formats, one file each, and what they share; private to this module. */
#pragma once

#include "base/strbuf.h"
#include "export/exporter.h"

extern const struct exporter folded_exporter, pprof_exporter, speedscope_exporter, chrome_exporter,
	hatchet_exporter, perf_script_exporter, csv_exporter, json_exporter;

/* The node after @node in the order of the tree; PROFILE_NONE behind the last. */
uint32_t export_next(const struct profile *p, uint32_t node);
/* The same, leaving out parts of the tree without a value of @metric. */
uint32_t export_next_with(const struct profile *p, uint32_t node, int metric);

/* "kernel", "python": for formats with a place for it. */
const char *export_kind(enum frame_kind kind);
/* "py::f (a.py:12)" -> "f", what a Python frame's function is called: where it begins and how long. */
const char *export_python_name(const char *name, size_t *ret_size);

/* The metrics that have a value, at most PROFILE_METRICS_MAX: how many. */
int export_metrics(const struct profile *p, int ret[PROFILE_METRICS_MAX]);
/* The one to show first: opt->metric, else the first with a value; -ENODATA with a text. */
int export_metric(const struct profile *p, const struct export_options *opt, struct err *err);

/* In decimal, with zeros in front where it has fewer digits. At most 20. */
void export_number(struct strbuf *out, uint64_t number, unsigned least_digits);
