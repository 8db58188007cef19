/* SPDX-License-Identifier: Apache-2.0 */
/* Where inside kernels device samples fell: lines, instructions, stall reasons. */
#include "base/cleanup.h"
#include "base/hash.h"
#include "cmd/view.h"
#include "device/stall.h"

#include <errno.h>
#include <string.h>

enum {
	WHAT,
	KERNEL,
	SAMPLES,
	SHARE,
	MEANING,
};

static const struct sheet_column line_columns[] = {
	[WHAT] = { "line", "LINE", SHEET_TEXT, 16 },
	[KERNEL] = { "kernel", "kernel", SHEET_TEXT, 16 },
	[SAMPLES] = { "samples", "samples", SHEET_COUNT, 0 },
	[SHARE] = { "share", "%", SHEET_SHARE, 0 },
};

static const struct sheet_column instruction_columns[] = {
	[WHAT] = { "instruction", "INSTRUCTION", SHEET_TEXT, 24 },
	[KERNEL] = { "kernel", "kernel", SHEET_TEXT, 16 },
	[SAMPLES] = { "samples", "samples", SHEET_COUNT, 0 },
	[SHARE] = { "share", "%", SHEET_SHARE, 0 },
};

static const struct sheet_column stall_columns[] = {
	[WHAT] = { "reason", "STALL", SHEET_TEXT, 12 },
	[KERNEL] = { "kernel", "kernel", SHEET_TEXT, 16 },
	[SAMPLES] = { "samples", "samples", SHEET_COUNT, 0 },
	[SHARE] = { "share", "%", SHEET_SHARE, 0 },
	[MEANING] = { "meaning", "what it means, what usually mends it", SHEET_TEXT, 24 },
};

static const char *const sort_keys[] = { "samples", "name" };

struct place_row {
	uint32_t frame, kernel; /* frames; kernel 0: of all, as the root's frame is */
	uint64_t samples;
};

struct places {
	const struct profile *p;
	VEC(struct place_row) rows;
	struct hash row_of; /* (frame, kernel) -> index */
};

/* The nearest node at or above @node whose frame is of @kind; PROFILE_NONE. */
static uint32_t node_of_kind(const struct profile *p, uint32_t node, enum frame_kind kind)
{
	while (node != PROFILE_NONE &&
	       profile_frame_get(p, profile_node(p, node).frame).kind != kind)
		node = profile_node(p, node).parent;
	return node;
}

static int add(struct places *s, uint32_t frame, uint32_t kernel, uint64_t samples)
{
	uint64_t key = hash_pair(frame, kernel);
	const uint64_t *known = hash_get(&s->row_of, key);
	if (known) {
		s->rows.data[*known].samples += samples;
		return 0;
	}
	struct place_row row = { .frame = frame, .kernel = kernel, .samples = samples };
	if (hash_set(&s->row_of, key, s->rows.len) < 0)
		return -ENOMEM;
	return vec_push(&s->rows, row);
}

/* Each sample counts for what of @kind it is in, the innermost; by kernel, or for all of them. */
static int collect(struct places *s, int metric, enum frame_kind kind, bool by_kernel)
{
	for (uint32_t n = 0; n < profile_node_count(s->p); n++) {
		uint64_t samples = profile_self(s->p, n, metric);
		uint32_t at = samples ? node_of_kind(s->p, n, kind) : PROFILE_NONE;
		if (at == PROFILE_NONE)
			continue;
		uint32_t kernel = by_kernel ? node_of_kind(s->p, at, FRAME_KERNEL) : PROFILE_NONE;
		if (add(s, profile_node(s->p, at).frame,
			kernel == PROFILE_NONE ? 0 : profile_node(s->p, kernel).frame, samples) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int compare_names(const struct profile *p, uint32_t a, uint32_t b)
{
	struct frame x = profile_frame_get(p, a), y = profile_frame_get(p, b);
	return profile_frame_compare(&x, &y);
}

static int compare_samples(const void *va, const void *vb, void *profile)
{
	const struct place_row *a = va, *b = vb;
	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	int rc = compare_names(profile, a->frame, b->frame);
	return rc ? rc : compare_names(profile, a->kernel, b->kernel);
}

static int compare_by_name(const void *va, const void *vb, void *profile)
{
	const struct place_row *a = va, *b = vb;
	int rc = compare_names(profile, a->frame, b->frame);
	return rc ? rc : compare_names(profile, a->kernel, b->kernel);
}

static void add_row(struct sheet *t, const struct profile *p, const struct place_row *row,
		    uint64_t all)
{
	const char *name = profile_frame_get(p, row->frame).name;
	const char *meaning = t->column_count > MEANING ? device_stall_meaning(name) : NULL;

	sheet_row(t);
	sheet_text(t, WHAT, name);
	if (row->kernel)
		sheet_text(t, KERNEL, profile_frame_get(p, row->kernel).name);
	sheet_number(t, SAMPLES, row->samples);
	sheet_share(t, SHARE, row->samples, all);
	if (meaning)
		sheet_text(t, MEANING, meaning);
}

static int fill(struct sheet *t, const struct view *v, enum frame_kind kind, bool by_kernel,
		struct err *err)
{
	struct places s = { .p = v->p };
	int metric = profile_metric_find(v->p, "device-samples");
	int rc = view_check_sort(v->sort, sort_keys, ARRAY_SIZE(sort_keys), err);
	if (rc < 0)
		return rc;
	if (metric < 0)
		return err_set(err, -EINVAL, "no samples of what devices did in kernels");
	if (collect(&s, metric, kind, by_kernel) < 0)
		rc = err_set(err, -ENOMEM, "cannot list places in kernels");
	if (s.rows.len)
		qsort_r(s.rows.data, s.rows.len, sizeof(*s.rows.data),
			v->sort && !strcmp(v->sort, "name") ? compare_by_name : compare_samples,
			(void *)v->p);
	uint64_t all = profile_total(v->p, PROFILE_ROOT, metric);
	for (size_t i = 0; i < s.rows.len && i < v->limit && !rc; i++)
		add_row(t, v->p, &s.rows.data[i], all);
	vec_release(&s.rows);
	hash_release(&s.row_of);
	return rc;
}

int view_lines(struct sheet *t, const struct view *v, struct err *err)
{
	sheet_init(t, "lines", line_columns, ARRAY_SIZE(line_columns));
	return fill(t, v, FRAME_SOURCE, true, err);
}

int view_instructions(struct sheet *t, const struct view *v, struct err *err)
{
	sheet_init(t, "instructions", instruction_columns, ARRAY_SIZE(instruction_columns));
	return fill(t, v, FRAME_INSTRUCTION, true, err);
}

int view_stalls(struct sheet *t, const struct view *v, struct err *err)
{
	sheet_init(t, "stalls", stall_columns, ARRAY_SIZE(stall_columns));
	return fill(t, v, FRAME_STALL, false, err);
}
