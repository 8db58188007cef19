/* SPDX-License-Identifier: Apache-2.0 */
#include "export/words.h"

static void make(struct words *w, const struct profile *p, uint32_t number)
{
	struct frame frame = profile_frame_get(p, number);
	struct word *word = &w->list.data[number];

	word->begin = w->text.len;
	w->make(&w->text, &frame);
	word->size = w->text.len - word->begin;
}

void words_put(struct words *w, const struct profile *p, uint32_t frame, struct strbuf *out)
{
	while (w->list.len <= frame) {
		if (vec_push(&w->list, (struct word){ 0 }) < 0) {
			out->failed = true;
			return;
		}
	}
	if (!w->list.data[frame].size)
		make(w, p, frame);
	out->failed |= w->text.failed;
	if (!out->failed)
		strbuf_add(out, w->text.data + w->list.data[frame].begin, w->list.data[frame].size);
}
