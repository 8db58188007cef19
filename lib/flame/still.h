/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture that needs no script: title, legend and frames as SVG elements. Wide frames have a
 * label and a tooltip; thin ones of one colour are one path. Knows SVG; no compression or script.
 */
#pragma once

#include "base/strbuf.h"
#include "flame/layout.h"

#include <stdbool.h>
#include <stdint.h>

struct profile;

struct still {
	const struct profile *profile; /* as it is drawn: folded or not */
	const char *title, *note;
	int metric;
	uint32_t width_px;
	bool inverted, is_diff;
	struct flame_layout layout;
	uint32_t height_px;
};

void still_release(struct still *s);
DEFINE_CLEANUP_EMBEDDED(still_release, struct still)
/* Lay out what the fields up to @is_diff say. 0, -ENODATA or -ENOMEM. */
int still_layout(struct still *s);
/* The rules for the colours of frames, light and dark, for both pictures: class "a0" is kind 0,
 * shade 0. */
void still_put_colours(struct strbuf *out);
/* The elements, in a group with the id "still". */
void still_put(struct strbuf *out, const struct still *s);
