/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flame graph as one self-contained SVG (or HTML page around it): the whole tree inside,
 * compressed, for the script that draws, zooms and searches; and a static picture of what is at
 * least a tenth of a pixel wide, for viewers that run no scripts. Knows frames and numbers; not
 * captures or symbols. The same profile and options give the same bytes.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct profile;

enum flame_format {
	FLAME_SVG,
	FLAME_HTML
};

struct flame_options {
	enum flame_format format;
	const char *title; /* NULL: "Flame graph" */
	const char *note;  /* NULL; below the title, after what is counted */
	int metric;        /* drawn first; the others can be switched to */
	uint32_t width_px; /* 0: as wide as the window */
	bool inverted;     /* root at the top */
	bool is_diff;      /* the profile is profile_diff()'s, and @metric its DIFF_BOTH */
	bool full;         /* framework frames and numbered layers shown from the start */
	/* Markup around the picture in a page; NULL: none. */
	const char *above, *below;
};

/* Narrower, not even a label fits; wider, no screen shows it. */
#define FLAME_WIDTH_MIN     200
#define FLAME_WIDTH_MAX     100000
#define FLAME_WIDTH_DEFAULT 1200

/* 0; -ENODATA when the metric has no value, before anything is written; -ENOMEM; what writing
 * failed with. */
int flame_write(FILE *out, const struct profile *p, const struct flame_options *opt,
		struct err *err);
