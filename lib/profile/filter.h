/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees made from trees: parts, other groupings, fewer frames. Each leaves its input alone and
 * gives a finished profile with the same metrics. Knows frames and sums; no option's name.
 *
 * Which frames are meant is an array of one byte for each frame of the profile, not 0 for yes.
 */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "profile/profile.h"

/* Frames whose name or full name matches a POSIX extended regular expression. -EINVAL for a bad
 * one, -ENOMEM. */
int profile_match(const struct profile *p, const char *regex, uint8_t **ret, struct err *err);

/* Paths from their first matching frame on; others are left out. 0 or -ENOMEM, here and below. */
int profile_root_at(const struct profile *p, const uint8_t *match, struct profile **ret);
/* Whole paths that have a matching frame. */
int profile_focus(const struct profile *p, const uint8_t *match, struct profile **ret);
/* Whole paths that have none. */
int profile_ignore(const struct profile *p, const uint8_t *match, struct profile **ret);
/* All paths, without the matching frames; what was on those goes to the frame below them. */
int profile_hide(const struct profile *p, const uint8_t *match, struct profile **ret);
/* From the leaf to the root: what is on top, whoever called it. */
int profile_reverse(const struct profile *p, struct profile **ret);

/*
 * For a first look: of each run of framework frames, and of each of Python's own library, only the
 * one that was called from outside; scopes all stay. Of an interpreter's native frames only the first
 * of a stack, as Python's frames say what it does; they do not part a run. Layers that differ only by their number are one.
 */
int profile_fold(const struct profile *p, struct profile **ret);
/* Whether profile_fold() would change anything. */
bool profile_can_fold(const struct profile *p);
/* Which runs a frame is folded with: 0, it is never folded. */
enum profile_run {
	PROFILE_RUN_NONE,
	PROFILE_RUN_FRAMEWORK,
	PROFILE_RUN_STDLIB,
	PROFILE_RUN_INTERPRETER,
};
enum profile_run profile_run_of(const struct frame *frame);
/*
 * "decoder.layers.17.mlp" -> "decoder.layers.*.mlp", "Conv2d_3" -> "Conv2d_*", for a scope;
 * "libfoo.so+0x1a0" -> "libfoo.so", for code of a framework without symbols.
 * False: this frame has no number to merge by, and @ret is not touched.
 */
bool profile_layer_name(const struct frame *frame, struct strbuf *ret);

/*
 * In place: what accelerator work has of @metric itself goes to the frames below it, in proportion
 * to what they have of @by, so that a kernel's measured time reaches its instructions and stall
 * reasons by their samples. Sums stay exact. Needs profile_finish() before and does it again.
 */
int profile_spread(struct profile *p, int metric, int by);
