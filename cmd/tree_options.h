/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `report --view tree`, after Proton's viewer; a child of report's argp. */
#pragma once

#include "cmd/tree_metric.h"
#include "export/sheet.h"

#include <argp.h>

#define TREE_METRICS_MAX 6 /* columns of numbers */
#define TREE_COLUMNS_MAX 12

enum tree_format {
	TREE_FORMAT_USUAL,
	TREE_FORMAT_FULL, /* "/srv/train.py:42@step" */
	TREE_FORMAT_FILE_FUNCTION_LINE,
	TREE_FORMAT_FUNCTION_LINE,
	TREE_FORMAT_FILE_FUNCTION,
};

struct tree_options {
	struct tree_metric metrics[TREE_METRICS_MAX];
	const char *texts[TREE_METRICS_MAX]; /* as they were given */
	size_t metric_count;
	const char *include, *exclude; /* regular expressions; NULL */
	double threshold;
	bool has_threshold;
	uint32_t depth; /* 0: any */
	enum tree_format format;
	bool is_sorted, is_list;
	bool is_used;                                  /* some option was given */
	char *list;                                    /* what `texts` points into; free it */
	struct sheet_column columns[TREE_COLUMNS_MAX]; /* room for the view */
};

/* Its input is a `struct tree_options`. */
extern const struct argp tree_argp;
