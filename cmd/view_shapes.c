/* SPDX-License-Identifier: Apache-2.0 */
/* Device work by operator and shapes of its inputs; kernels under the roofs of their device. */
#include "analyze/op_cost.h"
#include "analyze/work.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "capture/record.h"
#include "cmd/view.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	NAME,
	SHAPE,
	TYPES,
	TIME,
	SHARE,
	LAUNCHES,
	MEAN,
	FLOP_RATE,
	BYTE_RATE,
	ROOF,
	GROUPS,
	BOUND,
	/* only for programs */
	OP,
	FULL_NAME,
	FLOPS,
	BYTES,
	COMPUTE,
	MEMORY,
	UNITS,
	COLUMN_COUNT
};

#define HIDDEN_COLUMNS                                             \
	[FULL_NAME] = { "full_name", NULL, SHEET_TEXT, 0 },        \
	[FLOPS] = { "flops", NULL, SHEET_DECIMAL, 0 },             \
	[BYTES] = { "bytes", NULL, SHEET_DECIMAL, 0 },             \
	[COMPUTE] = { "compute_roof_ns", NULL, SHEET_DECIMAL, 0 }, \
	[MEMORY] = { "memory_roof_ns", NULL, SHEET_DECIMAL, 0 },   \
	[UNITS] = { "device_units", NULL, SHEET_ID, 0 }

static const struct sheet_column shape_columns[] = {
	[NAME] = { "op", "OPERATOR", SHEET_TEXT, 16 },
	[SHAPE] = { "shape", "shapes", SHEET_TEXT, 12 },
	[TYPES] = { "types", "types", SHEET_TEXT, 8 },
	[TIME] = { "device_time_ns", "time", SHEET_NS, 0 },
	[SHARE] = { "device_time_share", "%", SHEET_SHARE, 0 },
	[LAUNCHES] = { "launches", "launches", SHEET_COUNT, 0 },
	[MEAN] = { "mean_ns", "mean", SHEET_DURATION, 0 },
	[FLOP_RATE] = { "tflop_per_s", "TF/s", SHEET_FIGURE, 0 },
	[BYTE_RATE] = { "gbyte_per_s", "GB/s", SHEET_FIGURE, 0 },
	[ROOF] = { "roof_share", NULL, SHEET_SHARE, 0 },
	[GROUPS] = { "groups", NULL, SHEET_COUNT, 0 },
	[BOUND] = { "bound", NULL, SHEET_TEXT, 0 },
	[OP] = { "dims", NULL, SHEET_TEXT, 0 },
	HIDDEN_COLUMNS,
};

static const struct sheet_column roof_columns[] = {
	[NAME] = { "kernel", "KERNEL", SHEET_TEXT, 20 },
	[SHAPE] = { "shape", "shape", SHEET_TEXT, 12 },
	[TYPES] = { "types", NULL, SHEET_TEXT, 0 },
	[TIME] = { "device_time_ns", "time", SHEET_NS, 0 },
	[SHARE] = { "device_time_share", NULL, SHEET_SHARE, 0 },
	[LAUNCHES] = { "launches", "launches", SHEET_COUNT, 0 },
	[MEAN] = { "mean_ns", NULL, SHEET_DURATION, 0 },
	[FLOP_RATE] = { "tflop_per_s", "TF/s", SHEET_FIGURE, 0 },
	[BYTE_RATE] = { "gbyte_per_s", "GB/s", SHEET_FIGURE, 0 },
	[ROOF] = { "roof_share", "% roof", SHEET_SHARE, 0 },
	[GROUPS] = { "groups", "groups", SHEET_COUNT, 0 },
	[BOUND] = { "bound", "bound by", SHEET_TEXT, 0 },
	[OP] = { "op", NULL, SHEET_TEXT, 0 },
	HIDDEN_COLUMNS,
};

static const char *const sort_keys[] = { "time",  "launches", "mean", "flops",
					 "bytes", "roof",     "name" };

struct shape_row {
	uint32_t name, shape, types, op; /* texts */
	uint32_t frame;                  /* of the kernel; 0: several */
	struct work_item sum;
	uint64_t flops_ns, bytes_ns, roof_ns; /* in which these are known */
	uint64_t copied_ns;                   /* of copies and fills, whose bytes are these: */
	uint64_t copies;
	double copied;
};

struct shapes {
	bool by_kernel;
	const char *sort;
	const struct work *w;
	struct strtab texts;
	VEC(struct shape_row) rows;
	struct hash by_key; /* (name, text of shape and types) -> row */
	uint64_t all_ns;
};

static void shapes_release(struct shapes *s)
{
	strtab_release(&s->texts);
	vec_release(&s->rows);
	hash_release(&s->by_key);
}

static int keep(struct shapes *s, const struct strbuf *text, uint32_t *ret)
{
	int rc = strbuf_finish(text);
	return rc ? rc : strtab_add(&s->texts, strbuf_text(text), ret);
}

/* What a row is told by, in `texts`. */
static int row_texts(struct shapes *s, const struct work_item *item, struct shape_row *row)
{
	const struct op_inputs in = {
		.op = span_of(item->op, strlen(item->op)),
		.dims = span_of(item->dims, strlen(item->dims)),
		.types = span_of(item->types, strlen(item->types)),
	};
	struct strbuf shape = { 0 }, types = { 0 };

	row->frame = profile_node(s->w->p, item->node).frame;
	const char *kernel = profile_frame_get(s->w->p, row->frame).name;
	/* Copies are told apart by their direction. */
	bool is_copy = item->kind == LAUNCH_COPY || item->kind == LAUNCH_FILL;
	if (!s->by_kernel || !is_copy) {
		op_shape_text(&in, &shape);
		op_types_text(&in, &types);
	}
	int rc = keep(s, &shape, &row->shape);
	rc = rc ? rc : keep(s, &types, &row->types);
	rc = rc ? rc
		: strtab_add(&s->texts,
			     !s->by_kernel ? item->dims
			     : is_copy     ? ""
					   : item->op,
			     &row->op);
	rc = rc ? rc
		: strtab_add(&s->texts,
			     s->by_kernel ? kernel
			     : *item->op  ? item->op
					  : "(no operator)",
			     &row->name);
	strbuf_release(&shape);
	strbuf_release(&types);
	return rc;
}

static double roof_ns(const struct work_item *x)
{
	return x->compute_ns > x->memory_ns ? x->compute_ns : x->memory_ns;
}

static void sum_add(struct shape_row *row, const struct work_item *item)
{
	struct work_item *sum = &row->sum;
	bool is_copy = item->kind == LAUNCH_COPY || item->kind == LAUNCH_FILL;
	/* What an operator clears or copies besides says nothing of its kernels. */
	row->copied_ns += is_copy ? item->ns : 0;
	row->copies += is_copy ? item->count : 0;
	row->copied += is_copy ? item->bytes : 0;
	row->flops_ns += item->flops > 0 ? item->ns : 0;
	row->bytes_ns += item->bytes > 0 && !is_copy ? item->ns : 0;
	row->roof_ns += roof_ns(item) > 0 ? item->ns : 0;
	sum->ns += item->ns;
	sum->count += item->count;
	sum->flops += item->flops;
	sum->bytes += is_copy ? 0 : item->bytes;
	sum->compute_ns += item->compute_ns;
	sum->memory_ns += item->memory_ns;
	if (item->groups && (!sum->groups || item->groups < sum->groups))
		sum->groups = item->groups;
	sum->units = item->units;
	sum->kind = item->kind;
}

static int shapes_add(struct shapes *s, const struct work_item *item)
{
	struct shape_row row = { .name = 0 };
	uint32_t key;
	if (row_texts(s, item, &row) < 0)
		return -ENOMEM;
	const uint32_t parts[] = { row.name, row.shape, row.types, s->by_kernel ? row.op : 0 };
	/* Four numbers as a text of their own: never equal to one of the others. */
	struct strbuf text = { 0 };
	strbuf_printf(&text, "\1%u,%u,%u,%u", parts[0], parts[1], parts[2], parts[3]);
	int rc = keep(s, &text, &key);
	strbuf_release(&text);
	if (rc < 0)
		return rc;
	s->all_ns += item->ns;
	const uint64_t *known = hash_get(&s->by_key, key);
	if (!known) {
		if (hash_set(&s->by_key, key, s->rows.len) < 0 || vec_push(&s->rows, row) < 0)
			return -ENOMEM;
	}
	struct shape_row *at = known ? &s->rows.data[*known] : vec_last(&s->rows);
	if (at->frame != row.frame)
		at->frame = 0;
	sum_add(at, item);
	return 0;
}

static double per_ns(double amount, uint64_t ns)
{
	return ns ? amount / (double)ns : 0;
}

static double roof_share(const struct shape_row *r)
{
	return per_ns(roof_ns(&r->sum), r->roof_ns);
}

/* Less than this is mostly a kernel's beginning and end: some microseconds each. */
#define SHORT_NS 10000

/* Half of what is possible counts as bound by it. */
static const char *bound_by(const struct shape_row *r)
{
	const struct work_item *x = &r->sum;
	double share = roof_share(r);
	if (x->kind != LAUNCH_KERNEL)
		return NULL;
	if (share >= 0.5)
		return x->compute_ns > x->memory_ns ? "compute" : "memory";
	if (x->groups && x->groups < x->units)
		return "few groups";
	if (share <= 0)
		return NULL;
	return x->ns < SHORT_NS * x->count ? "latency" : "neither";
}

/* Of kernels where there are any, so that the mean is that of a call, with what it clears. */
static uint64_t launches_of(const struct shape_row *r)
{
	return r->sum.count > r->copies ? r->sum.count - r->copies : r->sum.count;
}

static double sort_value(const struct shape_row *r, const char *sort)
{
	const struct work_item *x = &r->sum;
	if (!strcmp(sort, "launches"))
		return (double)launches_of(r);
	if (!strcmp(sort, "mean"))
		return launches_of(r) ? (double)x->ns / (double)launches_of(r) : 0;
	if (!strcmp(sort, "flops"))
		return x->flops;
	if (!strcmp(sort, "bytes"))
		return x->bytes;
	if (!strcmp(sort, "roof"))
		return roof_share(r);
	return strcmp(sort, "name") != 0 ? (double)x->ns : 0;
}

static int compare(const void *va, const void *vb, void *data)
{
	const struct shape_row *a = va, *b = vb;
	const struct shapes *s = data;
	double x = sort_value(a, s->sort), y = sort_value(b, s->sort);
	if (x > y || x < y)
		return x > y ? -1 : 1;
	if (strcmp(s->sort, "name") != 0 && a->sum.ns != b->sum.ns)
		return a->sum.ns > b->sum.ns ? -1 : 1;
	int rc = strcmp(strtab_text(&s->texts, a->name), strtab_text(&s->texts, b->name));
	rc = rc ? rc : strcmp(strtab_text(&s->texts, a->shape), strtab_text(&s->texts, b->shape));
	rc = rc ? rc : strcmp(strtab_text(&s->texts, a->types), strtab_text(&s->texts, b->types));
	return rc ? rc : strcmp(strtab_text(&s->texts, a->op), strtab_text(&s->texts, b->op));
}

static void add_text(struct sheet *t, size_t column, const struct shapes *s, uint32_t text)
{
	if (*strtab_text(&s->texts, text))
		sheet_text(t, column, strtab_text(&s->texts, text));
}

static void add_known(struct sheet *t, size_t column, double value)
{
	if (value > 0)
		sheet_decimal(t, column, value);
}

static void add_numbers(struct sheet *t, const struct shapes *s, const struct shape_row *r)
{
	const struct work_item *x = &r->sum;
	sheet_number(t, TIME, x->ns);
	sheet_share(t, SHARE, x->ns, s->all_ns);
	uint64_t launches = launches_of(r);
	sheet_number(t, LAUNCHES, launches);
	if (launches)
		sheet_number(t, MEAN, x->ns / launches);
	add_known(t, FLOP_RATE, per_ns(x->flops, r->flops_ns) / 1000);
	if (r->copied_ns == x->ns)
		add_known(t, BYTE_RATE, per_ns(r->copied, x->ns));
	else
		add_known(t, BYTE_RATE, per_ns(x->bytes, r->bytes_ns));
	add_known(t, FLOPS, x->flops);
	add_known(t, BYTES, r->copied_ns == x->ns ? r->copied : x->bytes);
}

static void add_row(struct sheet *t, const struct shapes *s, const struct shape_row *r)
{
	const struct work_item *x = &r->sum;
	struct frame f = profile_frame_get(s->w->p, r->frame);

	sheet_row(t);
	add_text(t, NAME, s, r->name);
	add_text(t, SHAPE, s, r->shape);
	add_text(t, TYPES, s, r->types);
	add_text(t, OP, s, r->op);
	if (s->by_kernel && f.full && *f.full)
		sheet_text(t, FULL_NAME, f.full);
	add_numbers(t, s, r);
	add_known(t, ROOF, roof_share(r));
	add_known(t, COMPUTE, x->compute_ns);
	add_known(t, MEMORY, x->memory_ns);
	if (x->groups)
		sheet_number(t, GROUPS, x->groups);
	if (x->units)
		sheet_number(t, UNITS, x->units);
	if (bound_by(r))
		sheet_text(t, BOUND, bound_by(r));
}

/* Against what the shares are. */
static void add_peaks(struct sheet *t, const struct work *w)
{
	const struct device_peaks *p = &w->peaks;
	struct strbuf text = { 0 };
	if (!w->has_peaks) {
		strbuf_printf(&text, "peaks of %s: n/a", *w->device ? w->device : "this device");
	} else {
		strbuf_printf(&text, "peaks of %s:", w->device);
		const struct {
			const char *what;
			double peak;
		} list[] = { { "fp8", p->fp8 },
			     { "bf16", p->bf16 },
			     { "tf32", p->tf32 },
			     { "fp32", p->fp32 } };
		for (size_t i = 0, shown = 0; i < ARRAY_SIZE(list); i++) {
			if (list[i].peak > 0)
				strbuf_printf(&text, "%s %s %.4g", shown++ ? "," : "", list[i].what,
					      list[i].peak);
		}
		strbuf_printf(&text, " TF/s; %.3g TB/s", p->bytes);
	}
	if (strbuf_finish(&text) < 0)
		t->failed = true;
	sheet_note(t, strbuf_text(&text));
	strbuf_release(&text);
}

static void add_rows(struct sheet *t, struct shapes *s, size_t limit)
{
	struct shape_row rest = { .name = 0 };
	char text[64];
	size_t count = s->rows.len, shown = count <= limit + 1 ? count : limit;

	for (size_t i = 0; i < count; i++) {
		if (i < shown)
			add_row(t, s, &s->rows.data[i]);
		else
			sum_add(&rest, &s->rows.data[i].sum);
	}
	if (shown < count) {
		snprintf(text, sizeof(text), "%zu more", count - shown);
		sheet_row(t);
		sheet_text(t, NAME, text);
		sheet_number(t, TIME, rest.sum.ns);
		sheet_share(t, SHARE, rest.sum.ns, s->all_ns);
		sheet_number(t, LAUNCHES, launches_of(&rest));
	}
	if (s->by_kernel)
		add_peaks(t, s->w);
}

static int fill(struct sheet *t, const struct view *v, bool by_kernel, struct err *err)
{
	CLEANUP(work_release) struct work w = { .p = NULL };
	struct shapes s = {
		.by_kernel = by_kernel,
		.sort = v->sort ? v->sort : "time",
		.w = &w,
	};
	int rc = view_check_sort(v->sort, sort_keys, ARRAY_SIZE(sort_keys), err);
	/* Without any there is nothing to tell work apart by. */
	if (!rc && !by_kernel && !analysis_has_shapes(v->a))
		return 0;
	rc = rc ? rc : analysis_work(v->a, v->filter, &w, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < w.item_count && !rc; i++)
		rc = shapes_add(&s, &w.items[i]);
	if (!rc && s.rows.len) {
		qsort_r(s.rows.data, s.rows.len, sizeof(*s.rows.data), compare, &s);
		add_rows(t, &s, v->limit);
	}
	shapes_release(&s);
	return rc < 0 ? err_set(err, rc, "cannot list shapes") : 0;
}

int view_shapes(struct sheet *t, const struct view *v, struct err *err)
{
	sheet_init(t, "shapes", shape_columns, COLUMN_COUNT);
	return fill(t, v, false, err);
}

int view_roofline(struct sheet *t, const struct view *v, struct err *err)
{
	sheet_init(t, "roofline", roof_columns, COLUMN_COUNT);
	return fill(t, v, true, err);
}
