/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions, by what was spent in them. */
#include "base/cleanup.h"
#include "cmd/view.h"
#include "profile/flat.h"

#include <errno.h>
#include <string.h>

enum {
	NAME,
	MODULE,
	SELF_SAMPLES,
	SELF_NS,
	SELF_SHARE,
	TOTAL_SHARE,
	COLUMN_COUNT
};

static const struct sheet_column columns[] = {
	[NAME] = { "function", "CPU FUNCTION", SHEET_TEXT, 24 },
	[MODULE] = { "module", "module", SHEET_TEXT, 8 },
	[SELF_SAMPLES] = { "self_samples", "samples", SHEET_COUNT, 0 },
	[SELF_NS] = { "self_ns", "self", SHEET_NS, 0 },
	[SELF_SHARE] = { "self_share", "self %", SHEET_SHARE, 0 },
	[TOTAL_SHARE] = { "total_share", "total %", SHEET_SHARE, 0 },
};

/* On the page those below 1 % are left out, as far as there are others. */
#define PAGE_ROWS_MIN 5

static const char *const sort_keys[] = { "self", "total", "name" };

static bool is_function(const struct frame *f)
{
	return f->kind == FRAME_PYTHON || f->kind == FRAME_CXX || f->kind == FRAME_NATIVE ||
	       f->kind == FRAME_OS;
}

/* [lost] and the like have a place in the list, so that the shares add up. On the page those that
 * only call others have none: it says where the time is. */
static bool is_listed(const struct frame *f, const struct flat_row *row, bool is_page)
{
	return (is_function(f) && !is_page) || (row->self && f->kind != FRAME_PROCESS);
}

static int compare_total(const void *a, const void *b)
{
	const struct flat_row *x = a, *y = b;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

static int compare_name(const void *a, const void *b, void *profile)
{
	const struct flat_row *x = a, *y = b;
	int rc = strcmp(profile_frame_get(profile, x->frame).name,
			profile_frame_get(profile, y->frame).name);
	return rc ? rc : x->frame < y->frame ? -1 : x->frame > y->frame;
}

/* "libfoo.so+0x1a0", of a binary without names. */
static bool is_unnamed(const struct frame *f)
{
	return f->kind == FRAME_NATIVE && f->module && strstr(f->name, "+0x");
}

/* As profile_flat() sorts. */
static int compare_self(const void *a, const void *b, void *profile)
{
	const struct flat_row *x = a, *y = b;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return compare_name(a, b, profile);
}

/* Addresses tell nobody anything: on the page those of a binary are one row, whose total is not
 * known. 0 or -ENOMEM. */
static int merge_unnamed(const struct profile *p, struct flat_row *rows, size_t *count)
{
	VEC(size_t) firsts = { 0 }; /* of each binary */
	size_t kept = 0;
	int rc = 0;

	for (size_t i = 0; i < *count && rc == 0; i++) {
		struct frame f = profile_frame_get(p, rows[i].frame);
		bool is_new = true;
		for (size_t k = 0; k < firsts.len && is_unnamed(&f) && is_new; k++) {
			struct flat_row *first = &rows[firsts.data[k]];
			is_new = strcmp(profile_frame_get(p, first->frame).module, f.module) != 0;
			first->self += is_new ? 0 : rows[i].self;
		}
		if (!is_new)
			continue;
		rc = is_unnamed(&f) ? vec_push(&firsts, kept) : 0;
		rows[kept++] = rows[i];
	}
	vec_release(&firsts);
	qsort_r(rows, kept, sizeof(*rows), compare_self, (void *)p);
	*count = kept;
	return rc;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static void add_row(struct sheet *t, const struct profile *p, const struct flat_row *row,
		    uint64_t all, bool is_time, bool is_page)
{
	struct frame f = profile_frame_get(p, row->frame);
	bool is_merged = is_page && is_unnamed(&f);
	sheet_row(t);
	sheet_text(t, NAME, is_merged ? "(no names)" : f.name);
	if (f.module && *f.module)
		sheet_text(t, MODULE, base_name(f.module));
	else if (f.kind == FRAME_OS)
		sheet_text(t, MODULE, "[kernel]");
	sheet_number(t, is_time ? SELF_NS : SELF_SAMPLES, row->self);
	sheet_share(t, SELF_SHARE, row->self, all);
	if (!is_merged)
		sheet_share(t, TOTAL_SHARE, row->total, all);
}

int view_functions(struct sheet *t, const struct view *v, struct err *err)
{
	CLEANUP_FREE struct flat_row *rows = NULL;
	size_t count = 0, kept = 0;
	int metric = profile_metric_find(v->p, "cpu-samples");
	bool is_time = metric < 0;

	sheet_init(t, "functions", columns, COLUMN_COUNT);
	int rc = view_check_sort(v->sort, sort_keys, ARRAY_SIZE(sort_keys), err);
	if (rc < 0)
		return rc;
	if (is_time)
		metric = profile_metric_find(v->p, "cpu-time");
	if (metric < 0)
		return 0;
	if (profile_flat(v->p, metric, &rows, &count) < 0)
		return err_set(err, -ENOMEM, "cannot list functions");
	for (size_t i = 0; i < count; i++) {
		struct frame f = profile_frame_get(v->p, rows[i].frame);
		if (is_listed(&f, &rows[i], v->is_page))
			rows[kept++] = rows[i];
	}
	if (v->sort && !strcmp(v->sort, "total"))
		qsort(rows, kept, sizeof(*rows), compare_total);
	else if (v->sort && !strcmp(v->sort, "name"))
		qsort_r(rows, kept, sizeof(*rows), compare_name, (void *)v->p);
	else if (!v->sort && v->is_page && merge_unnamed(v->p, rows, &kept) < 0)
		return err_set(err, -ENOMEM, "cannot list functions");
	uint64_t all = profile_total(v->p, PROFILE_ROOT, metric);
	while (!v->sort && v->is_page && kept > PAGE_ROWS_MIN &&
	       rows[kept - 1].self < (all + 99) / 100)
		kept--;
	for (size_t i = 0; i < kept && i < v->limit; i++)
		add_row(t, v->p, &rows[i], all, is_time, v->is_page && !v->sort);
	return 0;
}
