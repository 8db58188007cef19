/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a frame looks, as the classes that style sheet, still picture and script agree on: a letter
 * and a shade, "d3"; with more words for what is told apart without colour. Knows no colours.
 */
#pragma once

#include "base/frame.h"
#include "base/strbuf.h"

#include <stdint.h>

#define LOOK_SHADES 8

/* Groups beyond the kinds of frames: what changed between two profiles. */
enum {
	LOOK_MORE = FRAME_KIND_COUNT,
	LOOK_LESS,
	LOOK_SAME,
	LOOK_GROUP_COUNT
};

struct look {
	unsigned group; /* enum frame_kind or one of the above; the letter is 'a' + group */
	unsigned shade;
	const char *word; /* "" or " idle", " own" (the caller's own Python), ... */
};

struct look look_of_frame(const struct frame *frame);
/* Always the same for the same name. */
unsigned look_shade(const char *name);

/* A change that is below this part of everything is noise, and drawn as none. */
#define LOOK_NOISE 1000

/* @now and @base of a sum of @all each. */
struct look look_of_change(uint64_t now, uint64_t base, uint64_t all);
/* "+33 %", "-5.2 %", "new", "gone", "" for noise. */
void look_put_change(struct strbuf *out, uint64_t now, uint64_t base, uint64_t all);

void look_put(struct strbuf *out, struct look look);
