/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/table.h"

#include "profile/filter.h"
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>

/* A frame of the profile, or the one that it is merged into. */
struct entry {
	struct frame frame;
	uint32_t number; /* of the frame in the profile */
	bool is_merged;
};

void table_release(struct table *t)
{
	free(t->rows);
	free(t->row_of);
	arena_release(&t->names);
	*t = (struct table){ 0 };
}

static int entry_compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	return profile_frame_compare(&x->frame, &y->frame);
}

/* 1 and the merged frame, 0 when it has none, or -ENOMEM. */
static int merged_frame(struct table *t, struct frame *frame)
{
	struct strbuf name = { 0 };
	if (!profile_layer_name(frame, &name))
		return 0;
	frame->name = strbuf_finish(&name) < 0 ? NULL : arena_copy(&t->names, name.data, name.len);
	frame->full = "";
	strbuf_release(&name);
	return frame->name ? 1 : -ENOMEM;
}

/* The profile's frames and those that they are merged into, sorted. */
static int entries_make(const struct profile *p, struct table *t, struct entry **ret,
			size_t *ret_count)
{
	uint32_t frames = profile_frame_count(p);
	CLEANUP_FREE struct entry *entries = calloc((size_t)frames * 2, sizeof(*entries));
	size_t count = 0;
	if (!entries)
		return -ENOMEM;

	for (uint32_t i = 0; i < frames; i++) {
		struct frame frame = profile_frame_get(p, i);
		entries[count++] = (struct entry){ .frame = frame, .number = i };
		int rc = merged_frame(t, &frame);
		if (rc < 0)
			return rc;
		if (rc)
			entries[count++] =
				(struct entry){ .frame = frame, .number = i, .is_merged = true };
	}
	qsort(entries, count, sizeof(*entries), entry_compare);
	*ret = TAKE(entries);
	*ret_count = count;
	return 0;
}

int table_make(const struct profile *p, struct table *ret)
{
	CLEANUP(table_release) struct table t = { 0 };
	CLEANUP_FREE struct entry *entries = NULL;
	size_t count;
	int rc = entries_make(p, &t, &entries, &count);
	if (rc < 0)
		return rc;

	t.rows = calloc(count, sizeof(*t.rows));
	t.row_of = calloc(profile_frame_count(p), sizeof(*t.row_of));
	if (!t.rows || !t.row_of)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		/* What reads the same is the same row, made up or not. */
		if (!i || entry_compare(&entries[i - 1], &entries[i]))
			t.rows[t.row_count++] = (struct table_row){ entries[i].frame, TABLE_NONE };
		if (!entries[i].is_merged)
			t.row_of[entries[i].number] = t.row_count - 1;
	}
	for (size_t i = 0, row = 0; i < count; i++) {
		if (i && entry_compare(&entries[i - 1], &entries[i]))
			row++;
		if (entries[i].is_merged)
			t.rows[t.row_of[entries[i].number]].merged = (uint32_t)row;
	}
	*ret = t;
	t = (struct table){ 0 };
	return 0;
}
