/* SPDX-License-Identifier: Apache-2.0 */
#include "export/words.h"

void words_make(struct words *w, const struct profile *p, uint32_t frame)
{
	struct frame f = profile_frame_get(p, frame);

	while (w->list.len <= frame) {
		if (vec_push(&w->list, (struct word){ 0 }) < 0) {
			w->text.failed = true;
			return;
		}
	}
	struct word *word = &w->list.data[frame];
	word->begin = w->text.len;
	w->make(&w->text, &f);
	word->size = w->text.len - word->begin;
	(void)strbuf_reserve(&w->text, STRBUF_SHORT); /* a failure is remembered */
}
