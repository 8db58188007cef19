/* SPDX-License-Identifier: Apache-2.0 */
/* Call paths of sites and of device work as nodes of one profile; private to this module. */
#pragma once

#include "analyze/account.h"
#include "analyze/frames.h"

struct paths;

/* Both are borrowed; @long_names as for frames_new(). */
int paths_new(struct paths **ret, struct analysis *a, struct profile *p, bool long_names);
void paths_leave_out_inlined(struct paths *t); /* as frames_leave_out_inlined() */
/* From now on, say more: ANALYSIS_DETAIL_*; then device work is on what paths_on() says. */
void paths_detail(struct paths *t, unsigned details);
/* Rows; 0: not known. */
int paths_on(struct paths *t, uint32_t device, uint32_t queue);
void paths_free(struct paths *t);
DEFINE_CLEANUP(paths_free, struct paths *)

/* All return 0 or -ENOMEM. */

/* The process alone; the root where nothing is known of it. */
int paths_process(struct paths *t, uint32_t process, uint32_t *ret);
/* process, host frames: the node of a (thread, stack) pair, sample_groups' row. */
int paths_group(struct paths *t, uint32_t group, uint32_t *ret);
/* The same for a site, whatever its kind. */
int paths_site(struct paths *t, uint32_t site, uint32_t *ret);
/* ..., "-", kernel. @name: number in `names`. */
int paths_kernel(struct paths *t, uint32_t site, uint32_t name, uint32_t *ret);
/* ..., "-", kernel, and what the sample hit inside it. */
int paths_place(struct paths *t, uint32_t site, const struct place *place,
		const enum analysis_leaf *order, uint32_t *ret);
/* ..., "-", [idle: host late]. */
int paths_idle(struct paths *t, uint32_t site, enum account_state state, uint32_t *ret);
/* The path of a site that ends in the call @text (the reader's), which its stack may end in, too. */
int paths_call(struct paths *t, uint32_t site, uint32_t text, uint32_t *ret);
/* A frame in brackets right above the root. */
int paths_missing(struct paths *t, const char *text, uint32_t *ret);
