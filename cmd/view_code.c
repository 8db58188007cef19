/* SPDX-License-Identifier: Apache-2.0 */
/* What the code that somebody can change costs: device time that it launched, and time in which a
 * device waited for it. */
#include "base/cleanup.h"
#include "base/hash.h"
#include "cmd/view.h"
#include "cmd/view_caller.h"

#include <errno.h>
#include <string.h>

enum {
	CODE,
	BUSY,
	BUSY_SHARE,
	IDLE,
	IDLE_SHARE,
	LAUNCHES,
	COLUMN_COUNT
};

static const struct sheet_column columns[] = {
	[CODE] = { "code", "CODE", SHEET_TEXT, 24 },
	[BUSY] = { "busy_ns", "busy", SHEET_NS, 0 },
	[BUSY_SHARE] = { "busy_share", "%", SHEET_SHARE, 0 },
	[IDLE] = { "idle_ns", "idle", SHEET_NS, 0 },
	[IDLE_SHARE] = { "idle_share", "%", SHEET_SHARE, 0 },
	[LAUNCHES] = { "launches", "launches", SHEET_COUNT, 0 },
};

static const char *const sort_keys[] = { "total", "busy", "idle", "launches", "name" };

struct code_row {
	uint32_t text;
	uint64_t busy_ns, idle_ns, launches;
};

struct code {
	const struct profile *p;
	int wall, launches; /* metrics; negative: not there */
	/* Where host time is known exactly, idle time belongs to what the host did meanwhile; else
	 * to what it launched next. Negative: the latter. */
	int idle_host;
	struct strtab texts;
	VEC(struct code_row) rows;
	struct hash by_text;
	const char *sort;
};

static void code_release(struct code *c)
{
	strtab_release(&c->texts);
	vec_release(&c->rows);
	hash_release(&c->by_text);
}

static int row_of(struct code *c, const char *text, struct code_row **ret)
{
	uint32_t number;
	if (strtab_add(&c->texts, text, &number) < 0)
		return -ENOMEM;
	const uint64_t *known = hash_get(&c->by_text, number);
	if (!known && (hash_set(&c->by_text, number, c->rows.len) < 0 ||
		       vec_push(&c->rows, (struct code_row){ .text = number }) < 0))
		return -ENOMEM;
	*ret = known ? &c->rows.data[*known] : vec_last(&c->rows);
	return 0;
}

static uint64_t self(const struct profile *p, uint32_t node, int metric)
{
	return metric < 0 ? 0 : profile_self(p, node, metric);
}

/* What one node has to give, to the code that its path from @caller on tells of. */
static int node_add(struct code *c, uint32_t node, uint32_t caller, enum frame_kind kind,
		    struct strbuf *text)
{
	struct code_row *row = NULL;
	int rc = caller_text(c->p, caller, 1, text);
	if (rc == 0)
		rc = row_of(c, text->len ? strbuf_text(text) : "(not known)", &row);
	if (rc < 0)
		return rc;
	if (kind == FRAME_KERNEL)
		row->busy_ns += self(c->p, node, c->wall);
	else if (kind == FRAME_IDLE)
		row->idle_ns += self(c->p, node, c->wall);
	else
		row->idle_ns += self(c->p, node, c->idle_host);
	if (kind == FRAME_KERNEL)
		row->launches += self(c->p, node, c->launches);
	return 0;
}

static int code_collect(struct code *c)
{
	struct strbuf text = { 0 };
	int rc = 0;
	for (uint32_t n = 0; n < profile_node_count(c->p) && rc == 0; n++) {
		struct profile_node node = profile_node(c->p, n);
		enum frame_kind kind = profile_frame_get(c->p, node.frame).kind;
		if (kind == FRAME_KERNEL || (kind == FRAME_IDLE && c->idle_host < 0))
			rc = node_add(c, n, profile_launcher(c->p, n), kind, &text);
		else if (kind != FRAME_IDLE && self(c->p, n, c->idle_host))
			rc = node_add(c, n, n, kind, &text);
	}
	strbuf_release(&text);
	return rc;
}

static int compare_rows(const void *a, const void *b, void *data)
{
	const struct code_row *x = a, *y = b;
	const struct code *c = data;
	const uint64_t keys[][2] = {
		{ x->busy_ns + x->idle_ns, y->busy_ns + y->idle_ns },
		{ x->busy_ns, y->busy_ns },
		{ x->idle_ns, y->idle_ns },
		{ x->launches, y->launches },
	};
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!strcmp(c->sort, sort_keys[i]) && keys[i][0] != keys[i][1])
			return keys[i][0] > keys[i][1] ? -1 : 1;
	}
	return strcmp(strtab_text(&c->texts, x->text), strtab_text(&c->texts, y->text));
}

static void add_row(struct sheet *t, const struct code *c, const char *text,
		    const struct code_row *r, uint64_t all)
{
	sheet_row(t);
	sheet_text(t, CODE, text);
	if (c->wall >= 0) {
		sheet_number(t, BUSY, r->busy_ns);
		sheet_share(t, BUSY_SHARE, r->busy_ns, all);
		sheet_number(t, IDLE, r->idle_ns);
		sheet_share(t, IDLE_SHARE, r->idle_ns, all);
	}
	if (c->launches >= 0)
		sheet_number(t, LAUNCHES, r->launches);
}

static void add_rows(struct sheet *t, const struct code *c, size_t limit)
{
	uint64_t all = c->wall < 0 ? 0 : profile_total(c->p, PROFILE_ROOT, c->wall);
	size_t shown = c->rows.len <= limit + 1 ? c->rows.len : limit;
	struct code_row rest = { 0 };
	char text[64];

	for (size_t i = 0; i < c->rows.len; i++) {
		const struct code_row *r = &c->rows.data[i];
		if (i < shown) {
			add_row(t, c, strtab_text(&c->texts, r->text), r, all);
			continue;
		}
		rest.busy_ns += r->busy_ns;
		rest.idle_ns += r->idle_ns;
		rest.launches += r->launches;
	}
	if (shown < c->rows.len) {
		snprintf(text, sizeof(text), "%zu more", c->rows.len - shown);
		add_row(t, c, text, &rest, all);
	}
}

int view_code(struct sheet *t, const struct view *v, struct err *err)
{
	struct code c = {
		.p = v->p,
		.wall = profile_metric_find(v->p, "wall"),
		.launches = profile_metric_find(v->p, "launches"),
		.idle_host = analysis_has_metric(v->a, "cpu-samples")
				     ? -1
				     : profile_metric_find(v->p, "idle-host"),
		.sort = v->sort ? v->sort : "total",
	};
	sheet_init(t, "code", columns, COLUMN_COUNT);
	int rc = view_check_sort(v->sort, sort_keys, ARRAY_SIZE(sort_keys), err);
	if (rc < 0)
		return rc;
	if (c.wall < 0 && !v->sort)
		c.sort = "launches";
	rc = code_collect(&c);
	if (rc == 0 && c.rows.len) {
		qsort_r(c.rows.data, c.rows.len, sizeof(*c.rows.data), compare_rows, &c);
		add_rows(t, &c, v->limit);
	}
	code_release(&c);
	return rc < 0 ? err_set(err, rc, "cannot list code") : 0;
}
