/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A subsecond-offset heat map as an SVG, or as a page where the time that is dragged over is shown
 * as a flame graph below. Knows a grid of values; no capture. The same input gives the same bytes.
 */
#pragma once

#include "flame/flame.h"

struct heat;

struct heatmap_options {
	enum flame_format format;
	const char *title; /* NULL: "Heat map" */
	const char *note;  /* NULL */
	bool full;         /* of the flame graph: framework frames shown from the start */
};

/* 0, -ENOMEM, or what writing failed with. */
int heatmap_write(FILE *out, const struct heat *h, const struct heatmap_options *opt,
		  struct err *err);
