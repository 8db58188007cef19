/* SPDX-License-Identifier: Apache-2.0 */
/* What a format says of each frame, made once: there are far fewer frames than nodes and events. */
#pragma once

#include "base/strbuf.h"
#include "base/vec.h"
#include "profile/profile.h"

struct word {
	size_t begin, size; /* size 0: not made yet */
};

/* All-zero but for what makes them. */
struct words {
	void (*make)(struct strbuf *out, const struct frame *frame); /* never nothing */
	struct strbuf text;
	VEC(struct word) list; /* by frame */
};

static inline void words_release(struct words *w)
{
	strbuf_release(&w->text);
	vec_release(&w->list);
}

/* Without memory their text has failed. */
void words_make(struct words *w, const struct profile *p, uint32_t frame);

/* Append those of a frame; without memory @out has failed. */
static inline void words_put(struct words *w, const struct profile *p, uint32_t frame,
			     struct strbuf *out)
{
	if (frame >= w->list.len || !w->list.data[frame].size)
		words_make(w, p, frame);
	out->failed |= w->text.failed;
	if (!out->failed)
		strbuf_add_short(out, w->text.data + w->list.data[frame].begin,
				 w->list.data[frame].size);
}
