/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of each device, then the code that allocated it: what was in use at the peak, and how much
 * and how often was asked for. */
#include "analyze/memory.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "cmd/view.h"
#include "cmd/view_caller.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	WHAT,
	KIND,
	PEAK,
	PEAK_SHARE,
	ALLOCATED,
	COUNT,
	RESERVED,
	END,
	PEAK_TIME,
	COLUMN_COUNT
};

static const struct sheet_column columns[] = {
	[WHAT] = { "name", "MEMORY", SHEET_TEXT, 24 },
	[KIND] = { "kind", NULL, SHEET_TEXT, 0 },
	[PEAK] = { "peak_bytes", "at peak", SHEET_BYTES, 0 },
	[PEAK_SHARE] = { "peak_share", "%", SHEET_SHARE, 0 },
	[ALLOCATED] = { "allocated_bytes", "allocated", SHEET_BYTES, 0 },
	[COUNT] = { "allocations", "times", SHEET_COUNT, 0 },
	[RESERVED] = { "reserved_bytes", "reserved", SHEET_BYTES, 0 },
	[END] = { "end_bytes", "at the end", SHEET_BYTES, 0 },
	[PEAK_TIME] = { "peak_time_ns", NULL, SHEET_ID, 0 },
};

static const char *const sort_keys[] = { "peak", "allocated", "allocations", "name" };

struct memory_row {
	uint32_t text;
	uint64_t peak, allocated, count;
};

struct memory_code {
	const struct profile *p;
	int peak, allocated, count; /* metrics */
	struct strtab texts;
	VEC(struct memory_row) rows;
	struct hash by_text;
	const char *sort;
	bool knows_whose; /* the peak is */
};

static void code_release(struct memory_code *c)
{
	strtab_release(&c->texts);
	vec_release(&c->rows);
	hash_release(&c->by_text);
}
DEFINE_CLEANUP_EMBEDDED(code_release, struct memory_code)

static int row_of(struct memory_code *c, const char *text, struct memory_row **ret)
{
	uint32_t number;
	if (strtab_add(&c->texts, text, &number) < 0)
		return -ENOMEM;
	const uint64_t *known = hash_get(&c->by_text, number);
	if (!known && (hash_set(&c->by_text, number, c->rows.len) < 0 ||
		       vec_push(&c->rows, (struct memory_row){ .text = number }) < 0))
		return -ENOMEM;
	*ret = known ? &c->rows.data[*known] : vec_last(&c->rows);
	return 0;
}

static uint64_t self(const struct profile *p, uint32_t node, int metric)
{
	return metric < 0 ? 0 : profile_self(p, node, metric);
}

static int collect(struct memory_code *c)
{
	struct strbuf text = { 0 };
	int rc = 0;
	for (uint32_t n = 0; n < profile_node_count(c->p) && rc == 0; n++) {
		struct memory_row *row = NULL;
		if (!self(c->p, n, c->peak) && !self(c->p, n, c->count))
			continue;
		struct frame f = profile_frame_get(c->p, profile_node(c->p, n).frame);
		rc = f.kind == FRAME_MISSING ? 0 : caller_text(c->p, n, 1, &text);
		if (rc < 0)
			break;
		rc = row_of(c,
			    f.kind == FRAME_MISSING ? f.name
			    : text.len              ? strbuf_text(&text)
						    : "(not known)",
			    &row);
		if (rc < 0)
			break;
		row->peak += self(c->p, n, c->peak);
		row->allocated += self(c->p, n, c->allocated);
		row->count += self(c->p, n, c->count);
	}
	strbuf_release(&text);
	return rc;
}

static int compare_rows(const void *a, const void *b, void *data)
{
	const struct memory_row *x = a, *y = b;
	const struct memory_code *c = data;
	const uint64_t keys[][2] = {
		{ x->peak, y->peak },
		{ x->allocated, y->allocated },
		{ x->count, y->count },
	};
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!strcmp(c->sort, sort_keys[i]) && keys[i][0] != keys[i][1])
			return keys[i][0] > keys[i][1] ? -1 : 1;
	}
	if (!strcmp(c->sort, "peak") && x->allocated != y->allocated)
		return x->allocated > y->allocated ? -1 : 1;
	return strcmp(strtab_text(&c->texts, x->text), strtab_text(&c->texts, y->text));
}

static void add_row(struct sheet *t, const struct memory_code *c, const char *text,
		    const struct memory_row *r)
{
	uint64_t all = c->peak < 0 ? 0 : profile_total(c->p, PROFILE_ROOT, c->peak);

	sheet_row(t);
	sheet_text(t, WHAT, text);
	sheet_text(t, KIND, "code");
	if (c->knows_whose || r->peak) {
		sheet_number(t, PEAK, r->peak);
		sheet_share(t, PEAK_SHARE, r->peak, all);
	}
	if (!r->count)
		return;
	sheet_number(t, ALLOCATED, r->allocated);
	sheet_number(t, COUNT, r->count);
}

static void add_rows(struct sheet *t, const struct memory_code *c, size_t limit)
{
	size_t shown = c->rows.len <= limit + 1 ? c->rows.len : limit;
	struct memory_row rest = { 0 };
	char text[64];

	for (size_t i = 0; i < c->rows.len; i++) {
		const struct memory_row *r = &c->rows.data[i];
		if (i < shown) {
			add_row(t, c, strtab_text(&c->texts, r->text), r);
			continue;
		}
		rest.peak += r->peak;
		rest.allocated += r->allocated;
		rest.count += r->count;
	}
	if (shown < c->rows.len) {
		snprintf(text, sizeof(text), "%zu more", c->rows.len - shown);
		add_row(t, c, text, &rest);
	}
}

static void add_device(struct sheet *t, const struct view *v, const struct memory_summary *m)
{
	struct strbuf text = { 0 };

	if (m->is_host)
		strbuf_puts(&text, "host");
	else
		strbuf_printf(&text, "%s %" PRIu32, view_device_word(v->s), m->index);
	if (m->rank)
		strbuf_printf(&text, " rank %" PRIu32, m->rank - 1);
	sheet_row(t);
	sheet_text(t, WHAT, strbuf_text(&text));
	sheet_text(t, KIND, "device");
	sheet_number(t, PEAK, m->peak);
	sheet_share(t, PEAK_SHARE, m->peak, m->peak);
	sheet_number(t, ALLOCATED, m->allocated);
	sheet_number(t, COUNT, m->count);
	if (m->reserved)
		sheet_number(t, RESERVED, m->reserved);
	sheet_number(t, END, m->end);
	sheet_number(t, PEAK_TIME, m->peak_ns);

	strbuf_reset(&text);
	strbuf_puts(&text, "peak after ");
	text_duration(&text, m->peak_ns > v->s->begin_ns ? m->peak_ns - v->s->begin_ns : 0);
	strbuf_puts(&text, "; ");
	text_bytes(&text, m->begin);
	strbuf_puts(&text, " were there before the first allocation");
	if (m->begin)
		sheet_note(t, strbuf_text(&text));
	strbuf_release(&text);
}

int view_memory(struct sheet *t, const struct view *v, struct err *err)
{
	CLEANUP(code_release)
	struct memory_code c = {
		.p = v->p,
		.peak = profile_metric_find(v->p, "memory-peak"),
		.allocated = profile_metric_find(v->p, "memory-allocated"),
		.count = profile_metric_find(v->p, "allocations"),
		.sort = v->sort ? v->sort : "peak",
	};
	CLEANUP_FREE struct memory_summary *list = NULL;
	size_t count = 0;

	sheet_init(t, "memory", columns, COLUMN_COUNT);
	int rc = view_check_sort(v->sort, sort_keys, ARRAY_SIZE(sort_keys), err);
	rc = rc ? rc : analysis_memory(v->a, v->filter, &list, &count, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count && i < v->limit; i++)
		add_device(t, v, &list[i]);
	for (size_t i = 0; i < count; i++)
		c.knows_whose |= list[i].has_addresses;
	rc = collect(&c);
	if (rc < 0)
		return err_set(err, rc, "cannot list memory");
	if (c.rows.len)
		qsort_r(c.rows.data, c.rows.len, sizeof(*c.rows.data), compare_rows, &c);
	add_rows(t, &c, v->limit);
	return 0;
}
