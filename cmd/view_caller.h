/* SPDX-License-Identifier: Apache-2.0 */
/* Call paths in few words. */
#pragma once

#include "base/span.h"
#include "base/strbuf.h"
#include "profile/profile.h"

#define CALLER_FRAMES_MAX 3

/* "BertSelfAttention" of "BertSelfAttention_0", how torch.profiler calls a module; else empty. */
struct span caller_module(const struct frame *f);

/*
 * "launch < run < main": of the path that ends at @node, the frames nearest to its end of the code
 * that somebody can change (the caller's own and what uses a framework), at most @frames, but always
 * the nearest of each of the two; where there is no such code, Python's, else any of the host. Empty
 * when nothing is known. 0 or -ENOMEM.
 */
int caller_text(const struct profile *p, uint32_t node, size_t frames, struct strbuf *ret);
/* The node of the frame that it names first; PROFILE_NONE when nothing is known. */
uint32_t caller_node(const struct profile *p, uint32_t node);
