/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree: call paths from the root to the leaf with one value per metric. Knows frames as text
 * and numbers to add up; not addresses, files or how it will be drawn.
 *
 * A value is put on the path's last node ("self"); profile_finish() adds up the totals and puts the
 * nodes in an order that depends on nothing but their content, so that output is the same each run.
 */
#pragma once

#include "base/cleanup.h"
#include "base/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

#define PROFILE_ROOT        0u /* the node every path starts under */
#define PROFILE_NONE        UINT32_MAX
#define PROFILE_METRICS_MAX 64 /* more is a mistake: every node has room for each */

int profile_new(struct profile **ret);
void profile_free(struct profile *p);
DEFINE_CLEANUP(profile_free, struct profile *)

struct profile_metric {
	const char
		*name; /* as options spell it: "wall", "device-time", "cpu-samples", "stall:sbid" */
	const char *unit; /* "ns", "samples", "launches", "bytes" */
};
/* Number of a metric, made when it is new: >= 0, or -ENOMEM, -E2BIG. */
int profile_metric(struct profile *p, const char *name, const char *unit);
/* -ENOENT when there is none of that name. */
int profile_metric_find(const struct profile *p, const char *name);
int profile_metric_count(const struct profile *p);
struct profile_metric profile_metric_get(const struct profile *p, int metric);

/* Number of a frame; equal content gives equal numbers. 0 or -ENOMEM. */
int profile_frame(struct profile *p, const struct frame *frame, uint32_t *ret);
/* Its content; the strings live as long as the profile. */
struct frame profile_frame_get(const struct profile *p, uint32_t frame);
uint32_t profile_frame_count(const struct profile *p);
/* The order that everything is shown in: name, kind, file, line, module, full name, class. */
int profile_frame_compare(const struct frame *a, const struct frame *b);
/* The numbers of all frames in that order, malloc'ed. 0 or -ENOMEM. */
int profile_frame_order(const struct profile *p, uint32_t **ret);

/* The child of @parent with @frame, made when it is new. 0 or -ENOMEM. */
int profile_child(struct profile *p, uint32_t parent, uint32_t frame, uint32_t *ret);
/* Add to a node's self value; sums stop at UINT64_MAX. */
void profile_add(struct profile *p, uint32_t node, int metric, uint64_t value);
/* The same for a path of frames from the root on. */
int profile_add_path(struct profile *p, const uint32_t *frames, size_t count, int metric,
		     uint64_t value);

/* Totals and order. Adding afterwards needs it again. 0 or -ENOMEM (also for a lost add). */
int profile_finish(struct profile *p);

struct profile_node {
	uint32_t frame;
	uint32_t parent;      /* PROFILE_NONE for the root */
	uint32_t first_child; /* PROFILE_NONE for a leaf */
	uint32_t next;        /* next sibling, in order */
};
uint32_t profile_node_count(const struct profile *p);
struct profile_node profile_node(const struct profile *p, uint32_t node);
uint64_t profile_self(const struct profile *p, uint32_t node, int metric);
/* Of accelerator work: the node of the host code that asked for it, below the boundary. */
uint32_t profile_launcher(const struct profile *p, uint32_t node);
/* With everything above it; valid after profile_finish(). */
uint64_t profile_total(const struct profile *p, uint32_t node, int metric);

/* The same as arrays by node, for who goes over millions: valid from profile_finish() to the next
 * change; NULL for a metric without any value. What is above a node is known before that, too. */
const struct profile_node *profile_nodes(const struct profile *p);
const uint64_t *profile_selves(const struct profile *p, int metric);
const uint64_t *profile_totals(const struct profile *p, int metric);
