/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels and copies, and the host code that launched each. */
#include "base/cleanup.h"
#include "base/hash.h"
#include "cmd/kernel_facts.h"
#include "cmd/view.h"
#include "cmd/view_caller.h"

#include "base/bisect.h"

#include <errno.h>
#include <string.h>

enum {
	NAME,
	SHAPE,
	TIME,
	SHARE,
	LAUNCHES,
	MEAN,
	MEDIAN,
	P95,
	DEVIATION,
	FLOP_RATE,
	ROOF,
	SAMPLES,
	SAMPLES_SHARE,
	FULL_NAME,
	OUTLIERS,
	OUTLIER_TIME,
	COLUMN_COUNT
};

/* For programs all of them; what people see fits their line. */
#define COLUMNS(share, mean, median, p95, deviation, flops)                           \
	{                                                                             \
		[NAME] = { "kernel", "KERNEL", SHEET_TEXT, 24 },                      \
		[SHAPE] = { "shape", (flops) ? "shape" : NULL, SHEET_TEXT, 12 },      \
		[TIME] = { "device_time_ns", "time", SHEET_NS, 0 },                   \
		[SHARE] = { "device_time_share", share, SHEET_SHARE, 0 },             \
		[LAUNCHES] = { "launches", "launches", SHEET_COUNT, 0 },              \
		[MEAN] = { "mean_ns", mean, SHEET_DURATION, 0 },                      \
		[MEDIAN] = { "median_ns", median, SHEET_DURATION, 0 },                \
		[P95] = { "p95_ns", p95, SHEET_DURATION, 0 },                         \
		[DEVIATION] = { "deviation_ns", deviation, SHEET_DURATION, 0 },       \
		[FLOP_RATE] = { "tflop_per_s", flops, SHEET_FIGURE, 0 },              \
		[ROOF] = { "roof_share", (flops) ? "% roof" : NULL, SHEET_SHARE, 0 }, \
		[SAMPLES] = { "samples", "samples", SHEET_COUNT, 0 },                 \
		[SAMPLES_SHARE] = { "samples_share", "%", SHEET_SHARE, 0 },           \
		[FULL_NAME] = { "full_name", NULL, SHEET_TEXT, 0 },                   \
		[OUTLIERS] = { "outliers", NULL, SHEET_COUNT, 0 },                    \
		[OUTLIER_TIME] = { "outlier_ns", NULL, SHEET_NS, 0 },                 \
	}

static const struct sheet_column page_columns[] = COLUMNS("%", "mean", NULL, NULL, NULL, "TF/s");
static const struct sheet_column columns[] = COLUMNS("%", NULL, "median", "95 %", "std dev", NULL);
/* Samples and their share need room, too. */
static const struct sheet_column page_sample_columns[] =
	COLUMNS("%", "mean", NULL, NULL, NULL, NULL);
static const struct sheet_column sample_columns[] =
	COLUMNS(NULL, NULL, "median", "95 %", NULL, NULL);

static const char *const sort_keys[] = { "time", "launches", "mean", "median",
					 "p95",  "samples",  "name" };

/* How many of a kernel's launching paths are shown, and from which share on. */
#define CALLERS_MAX  3
#define CALLER_LEAST 5 /* percent */

struct caller {
	uint32_t kernel; /* frame */
	uint32_t node;   /* of the host code */
	uint64_t weight;
};

struct kernel_row {
	uint32_t frame;
	uint64_t time_ns, launches, samples;
	const struct kernel_fact *fact;
};

struct kernels {
	const struct profile *p;
	int time, launches, samples; /* metrics; negative: not there */
	VEC(struct kernel_row) rows;
	VEC(struct caller) callers; /* by kernel, then weight */
	uint64_t all_time_ns, all_samples;
	bool many_processes;
	struct kernel_facts *facts; /* NULL: not needed */
};

static uint64_t self(const struct profile *p, uint32_t node, int metric)
{
	return metric < 0 ? 0 : profile_self(p, node, metric);
}

static uint64_t total(const struct profile *p, uint32_t node, int metric)
{
	return metric < 0 ? 0 : profile_total(p, node, metric);
}

static int compare_callers(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;
	if (x->kernel != y->kernel)
		return x->kernel < y->kernel ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* One row for each kernel, one caller for each of its nodes. */
static int kernels_collect(struct kernels *k)
{
	CLEANUP_FREE size_t *row_of = calloc(profile_frame_count(k->p), sizeof(*row_of));
	if (!row_of)
		return -ENOMEM;
	for (uint32_t n = 0; n < profile_node_count(k->p); n++) {
		struct profile_node node = profile_node(k->p, n);
		if (profile_frame_get(k->p, node.frame).kind != FRAME_KERNEL)
			continue;
		if (!row_of[node.frame]) {
			if (vec_push(&k->rows, (struct kernel_row){ .frame = node.frame }) < 0)
				return -ENOMEM;
			row_of[node.frame] = k->rows.len;
		}
		struct kernel_row *row = &k->rows.data[row_of[node.frame] - 1];
		uint64_t time_ns = self(k->p, n, k->time), samples = total(k->p, n, k->samples);
		uint64_t launches = self(k->p, n, k->launches);
		row->time_ns += time_ns;
		row->launches += launches;
		row->samples += samples;
		k->all_time_ns += time_ns;
		k->all_samples += samples;
		struct caller caller = {
			.kernel = node.frame,
			.node = profile_launcher(k->p, n),
			.weight = k->time >= 0       ? time_ns
				  : k->launches >= 0 ? launches
						     : samples,
		};
		if (vec_push(&k->callers, caller) < 0)
			return -ENOMEM;
	}
	if (k->callers.len)
		qsort(k->callers.data, k->callers.len, sizeof(*k->callers.data), compare_callers);
	return 0;
}

struct sorting {
	const struct kernels *k;
	const char *sort;
};

/* Without what says nothing of the others. */
static uint64_t mean_of(const struct kernel_row *r)
{
	uint64_t launches = r->launches, time_ns = r->time_ns;
	if (r->fact && r->fact->outliers < launches && r->fact->outlier_ns <= time_ns) {
		launches -= r->fact->outliers;
		time_ns -= r->fact->outlier_ns;
	}
	return launches ? time_ns / launches : 0;
}

static int compare_rows(const void *a, const void *b, void *data)
{
	const struct kernel_row *x = a, *y = b;
	const struct sorting *s = data;
	const uint64_t keys[][2] = {
		{ x->time_ns, y->time_ns },
		{ x->launches, y->launches },
		{ mean_of(x), mean_of(y) },
		{ x->fact->spread.median, y->fact->spread.median },
		{ x->fact->spread.p95, y->fact->spread.p95 },
		{ x->samples, y->samples },
	};
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!strcmp(s->sort, sort_keys[i]) && keys[i][0] != keys[i][1])
			return keys[i][0] > keys[i][1] ? -1 : 1;
	}
	if (strcmp(s->sort, "name")) {
		/* Whatever is asked for, equal ones stand in the order of what tells most. */
		static const size_t order[] = { 0, 5, 1 };
		for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
			if (keys[order[i]][0] != keys[order[i]][1])
				return keys[order[i]][0] > keys[order[i]][1] ? -1 : 1;
		}
	}
	return strcmp(profile_frame_get(s->k->p, x->frame).name,
		      profile_frame_get(s->k->p, y->frame).name);
}

/* ---- who launched it ---- */

/* The process of a path, NULL when it has none. */
static const char *path_process(const struct profile *p, uint32_t node)
{
	for (; node != PROFILE_NONE; node = profile_node(p, node).parent) {
		struct frame f = profile_frame_get(p, profile_node(p, node).frame);
		if (f.kind == FRAME_PROCESS)
			return f.name;
	}
	return NULL;
}

/* With the process, where there are several or nothing else is known. */
static int launcher_text(const struct kernels *k, uint32_t node, struct strbuf *ret)
{
	const char *process = path_process(k->p, node);
	int rc = caller_text(k->p, node, CALLER_FRAMES_MAX, ret);
	if (process && (k->many_processes || !ret->len))
		strbuf_printf(ret, "%s%s", ret->len ? " < " : "", process);
	if (!ret->len)
		strbuf_puts(ret, "(no caller known)");
	return rc < 0 ? rc : strbuf_finish(ret);
}

struct caller_sum {
	uint32_t text;
	uint64_t weight;
};

static int compare_sums(const void *a, const void *b)
{
	const struct caller_sum *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->text < y->text ? -1 : x->text > y->text;
}

/* The first of a kernel's callers. */
static size_t callers_first(const struct kernels *k, uint32_t kernel)
{
	return bisect(k->callers.len, i, k->callers.data[i].kernel < kernel);
}

/* Nodes that read the same are one caller. */
static int callers_sum(const struct kernels *k, uint32_t kernel, struct strtab *texts,
		       struct caller_sum **ret, size_t *ret_count)
{
	VEC(struct caller_sum) sums = { 0 };
	struct hash by_text = { 0 };
	struct strbuf text = { 0 };
	int rc = 0;

	for (size_t i = callers_first(k, kernel); i < k->callers.len && rc == 0; i++) {
		const struct caller *c = &k->callers.data[i];
		uint32_t number = 0;
		if (c->kernel != kernel)
			break;
		rc = launcher_text(k, c->node, &text);
		if (rc == 0)
			rc = strtab_add(texts, strbuf_text(&text), &number);
		const uint64_t *known = hash_get(&by_text, number);
		if (known)
			sums.data[*known].weight += c->weight;
		else if (rc == 0 && (rc = hash_set(&by_text, number, sums.len)) == 0)
			rc = vec_push(&sums, (struct caller_sum){ number, c->weight });
	}
	strbuf_release(&text);
	hash_release(&by_text);
	if (rc < 0) {
		vec_release(&sums);
		return rc;
	}
	if (sums.len)
		qsort(sums.data, sums.len, sizeof(*sums.data), compare_sums);
	*ret = sums.data;
	*ret_count = sums.len;
	return 0;
}

static int add_callers(struct sheet *t, const struct kernels *k, uint32_t kernel)
{
	CLEANUP_FREE struct caller_sum *sums = NULL;
	struct strtab texts = { 0 };
	size_t count = 0, shown = 0;
	uint64_t all = 0;
	char more[64];

	int rc = callers_sum(k, kernel, &texts, &sums, &count);
	for (size_t i = 0; i < count; i++)
		all += sums[i].weight;
	for (; shown < count && shown < CALLERS_MAX; shown++) {
		if (shown && (double)sums[shown].weight * 100 < (double)all * CALLER_LEAST)
			break;
		const char *text = strtab_text(&texts, sums[shown].text);
		if (count == 1)
			sheet_note(t, text);
		else
			sheet_note_share(t, sums[shown].weight, all, text);
	}
	if (shown < count) {
		snprintf(more, sizeof(more), "and %zu more caller%s", count - shown,
			 count - shown == 1 ? "" : "s");
		sheet_note(t, more);
	}
	strtab_release(&texts);
	return rc;
}

/* ---- the table ---- */

/* What a row knows of its launches one by one. */
static void add_facts(struct sheet *t, const struct kernel_fact *f)
{
	if (*f->shape) {
		char text[256];
		snprintf(text, sizeof(text), "%.200s%s", f->shape, f->has_shapes ? ", ..." : "");
		sheet_text(t, SHAPE, text);
	}
	if (f->spread.count)
		sheet_number(t, MEDIAN, f->spread.median);
	if (f->spread.count > 1) {
		sheet_number(t, P95, f->spread.p95);
		sheet_number(t, DEVIATION, f->spread.deviation);
	}
	if (f->flops > 0 && f->work_ns > 0)
		sheet_decimal(t, FLOP_RATE, f->flops / f->work_ns / 1000);
	if (f->roof_ns > 0 && f->work_ns > 0)
		sheet_decimal(t, ROOF, f->roof_ns / f->work_ns);
	if (f->outliers) {
		sheet_number(t, OUTLIERS, f->outliers);
		sheet_number(t, OUTLIER_TIME, f->outlier_ns);
	}
}

static void note_outliers(struct sheet *t, const struct kernel_fact *f)
{
	struct strbuf text = { 0 };
	if (!f->outliers || !f->spread.median)
		return;
	text_count(&text, f->outliers);
	strbuf_puts(&text, f->outliers > 1 ? " outliers of " : " outlier of ");
	text_duration(&text, f->outlier_ns);
	strbuf_puts(&text, ", ");
	text_count(&text, f->outlier_ns / f->outliers / f->spread.median);
	strbuf_puts(&text, "x the median, at the edge of the capture: not averaged in");
	if (strbuf_finish(&text) < 0)
		t->failed = true;
	sheet_note(t, strbuf_text(&text));
	strbuf_release(&text);
}

static void add_numbers(struct sheet *t, const struct kernels *k, const struct kernel_row *r)
{
	if (k->time >= 0) {
		sheet_number(t, TIME, r->time_ns);
		sheet_share(t, SHARE, r->time_ns, k->all_time_ns);
	}
	if (k->launches >= 0)
		sheet_number(t, LAUNCHES, r->launches);
	if (k->time >= 0 && r->launches)
		sheet_number(t, MEAN, mean_of(r));
	if (k->samples >= 0) {
		sheet_number(t, SAMPLES, r->samples);
		sheet_share(t, SAMPLES_SHARE, r->samples, k->all_samples);
	}
}

static int add_rows(struct sheet *t, const struct kernels *k, const struct view *v)
{
	struct kernel_row rest = { 0 };
	char text[64];
	/* One row that says "1 more" takes as much room as what it hides. */
	size_t shown = k->rows.len <= v->limit + 1 ? k->rows.len : v->limit;

	for (size_t i = 0; i < k->rows.len; i++) {
		const struct kernel_row *r = &k->rows.data[i];
		if (i >= shown) {
			rest.time_ns += r->time_ns;
			rest.launches += r->launches;
			rest.samples += r->samples;
			continue;
		}
		sheet_row(t);
		struct frame f = profile_frame_get(k->p, r->frame);
		sheet_text(t, NAME, f.name);
		if (f.full && *f.full)
			sheet_text(t, FULL_NAME, f.full);
		add_numbers(t, k, r);
		add_facts(t, r->fact);
		note_outliers(t, r->fact);
		if (!v->without_callers && add_callers(t, k, r->frame) < 0)
			return -ENOMEM;
	}
	if (shown < k->rows.len) {
		snprintf(text, sizeof(text), "%zu more", k->rows.len - shown);
		sheet_row(t);
		sheet_text(t, NAME, text);
		add_numbers(t, k, &rest);
	}
	return 0;
}

static bool has_many_processes(const struct profile *p)
{
	size_t count = 0;
	uint32_t c = profile_node(p, PROFILE_ROOT).first_child;
	for (; c != PROFILE_NONE; c = profile_node(p, c).next)
		count += profile_frame_get(p, profile_node(p, c).frame).kind == FRAME_PROCESS;
	return count > 1;
}

/* Shapes of next to nothing are not worth their room on the page. */
static bool has_many_shapes(const struct kernels *k)
{
	uint64_t known_ns = 0;
	vec_for_each(&k->rows, row)
		known_ns += row->fact->shape_ns;
	return known_ns > k->all_time_ns / 4;
}

static const struct sheet_column *columns_for(const struct kernels *k, const struct view *v)
{
	if (v->is_page)
		return k->samples >= 0 || !has_many_shapes(k) ? page_sample_columns : page_columns;
	return k->samples >= 0 ? sample_columns : columns;
}

static int fill(struct sheet *t, struct kernels *k, const struct view *v, struct err *err)
{
	struct sorting sorting = { k, v->sort ? v->sort : "time" };
	int rc = 0;

	/* On the page they are worth their time where they tell of shapes or of outliers. */
	if (k->time >= 0 && (!v->is_page || v->s->outlier_count || analysis_has_shapes(v->a)))
		rc = kernel_facts_new(&k->facts, v->a, v->filter, err);
	if (!rc && kernels_collect(k) < 0)
		rc = err_set(err, -ENOMEM, "cannot list kernels");
	if (rc < 0)
		return rc;
	vec_for_each(&k->rows, row)
		row->fact = kernel_facts_get(k->facts, profile_frame_get(k->p, row->frame).name);
	t->columns = columns_for(k, v);
	if (k->rows.len)
		qsort_r(k->rows.data, k->rows.len, sizeof(*k->rows.data), compare_rows, &sorting);
	return add_rows(t, k, v) < 0 ? err_set(err, -ENOMEM, "cannot list kernels") : 0;
}

int view_kernels(struct sheet *t, const struct view *v, struct err *err)
{
	struct kernels k = {
		.p = v->p,
		.time = profile_metric_find(v->p, "device-time"),
		.launches = profile_metric_find(v->p, "launches"),
		.samples = profile_metric_find(v->p, "device-samples"),
		.many_processes = has_many_processes(v->p),
	};

	sheet_init(t, "kernels", columns, COLUMN_COUNT);
	t->note_key = "callers";
	int rc = view_check_sort(v->sort, sort_keys, ARRAY_SIZE(sort_keys), err);
	rc = rc ? rc : fill(t, &k, v, err);
	vec_release(&k.rows);
	vec_release(&k.callers);
	kernel_facts_free(k.facts);
	return rc;
}
