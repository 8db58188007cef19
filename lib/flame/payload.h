/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole tree as text that travels inside a picture: nothing pruned, about two bytes a node.
 * Read by web/tree.js. Knows no SVG.
 *
 * Base64 of raw deflate (RFC 1951) of:
 *
 *	u32 LE		length of the header
 *	header		JSON: { "version": 1, "title", "note", "nodes", "metric", "fluid", "inverted",
 *			"full", "diff" (the metrics are those of profile/diff.h),
 *			"kinds": [name of each kind],
 *			"metrics": [{ "name", "unit", "meaning" }],
 *			"names": [one for each frame], "strings": ["", others],
 *			"columns": [bytes of each stream, in the order below] }
 *	streams		of LEB128 numbers, frames first, in the order of "names":
 *	  kind, class, shade (0..7), line
 *	  full, file, module		numbers of strings
 *	  merged			number of the frame that stands for it when layers are merged, + 1;
 *					0: itself
 *			then the nodes in pre-order, children in the order of their frames:
 *	  shape		how many levels up from the node before to this one's parent: 0 for its first
 *			child. Not there for the root
 *	  frame		number of the frame of a first child; else, how much more than its
 *			left sibling's, so that most are small
 *	  self		for each metric one stream of own values
 *
 * Nodes and metrics without any value are left out.
 */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

struct profile;

struct payload_options {
	const char *title, *note;
	int metric; /* drawn first */
	bool fluid, inverted, full, diff;
};

/* The base64 text, without line breaks. 0 or -ENOMEM. */
int payload_make(const struct profile *p, const struct payload_options *opt, struct strbuf *ret);
