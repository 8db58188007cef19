/* SPDX-License-Identifier: Apache-2.0 */
/* The frames that records stand for, as numbers of one profile; private to this module. */
#pragma once

#include "analyze/tables.h"
#include "profile/profile.h"

struct frames;

/* Both are borrowed. @long_names: kernels are shown by their whole names. */
int frames_new(struct frames **ret, struct analysis *a, struct profile *p, bool long_names);
/* From now on, of the functions inlined into each other at a place only the outermost. */
void frames_leave_out_inlined(struct frames *f);
/* From now on, say more: ANALYSIS_DETAIL_*. */
void frames_detail(struct frames *f, unsigned details);
void frames_free(struct frames *f);
DEFINE_CLEANUP(frames_free, struct frames *)

/* A view of numbers of frames; valid until the next call. */
struct frame_run {
	const uint32_t *frames;
	size_t count;
};

/* A frame of the tree of stacks: itself and what was inlined there, outermost first. 0 or -ENOMEM. */
int frames_host(struct frames *f, uint32_t frame, struct frame_run *ret);
/* The process as a frame. */
int frames_process(struct frames *f, uint32_t process, uint32_t *ret);
/* Kernel or other device work by its number in `names`. */
int frames_kernel(struct frames *f, uint32_t name, uint32_t *ret);
/* "-", with what is to be told of the device. Rows; 0: not known. */
int frames_boundary(struct frames *f, uint32_t device, uint32_t queue, uint32_t *ret);
/* Anything that is only a text: boundary, idle, missing. */
int frames_text(struct frames *f, enum frame_kind kind, const char *text, uint32_t *ret);
/* What a device sample hit, from below the kernel to the leaf, in the order asked for. */
int frames_place(struct frames *f, const struct place *place, const enum analysis_leaf *order,
		 struct frame_run *ret);
