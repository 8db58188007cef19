/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that waited for a device, by the code that made them. */
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "cmd/view.h"
#include "cmd/view_caller.h"

#include <errno.h>
#include <string.h>

enum {
	CALL,
	CODE,
	COUNT,
	WAIT,
	IDLE,
	SHARE,
	COLUMN_COUNT
};

static const struct sheet_column columns[] = {
	[CALL] = { "call", "CALL", SHEET_TEXT, 12 },
	[CODE] = { "code", "made by", SHEET_TEXT, 24 },
	[COUNT] = { "count", "calls", SHEET_COUNT, 0 },
	[WAIT] = { "wait_ns", "wait", SHEET_NS, 0 },
	[IDLE] = { "idle_ns", "idle", SHEET_NS, 0 },
	[SHARE] = { "idle_share", "%", SHEET_SHARE, 0 },
};

static const char *const sort_keys[] = { "idle", "wait", "calls", "name" };

struct sync_row {
	uint32_t call, code; /* texts */
	uint64_t count, wait_ns, idle_ns;
};

struct rows {
	const struct profile *p;
	int metrics[3];
	struct strtab texts;
	VEC(struct sync_row) list;
	struct hash row_of;
	const char *sort;
};

static uint64_t self(const struct rows *r, uint32_t node, size_t which)
{
	return r->metrics[which] < 0 ? 0 : profile_self(r->p, node, r->metrics[which]);
}

static int add(struct rows *r, uint32_t node, struct strbuf *text)
{
	struct sync_row row = {
		.count = self(r, node, 0),
		.wait_ns = self(r, node, 1),
		.idle_ns = self(r, node, 2),
	};
	if (!row.count)
		return 0;
	const char *call = profile_frame_get(r->p, profile_node(r->p, node).frame).name;
	/* From above the call: else the call is its own caller where nobody's code is known. */
	if (caller_text(r->p, profile_node(r->p, node).parent, 2, text) < 0 ||
	    strtab_add(&r->texts, call, &row.call) < 0 ||
	    strtab_add(&r->texts, strbuf_text(text), &row.code) < 0)
		return -ENOMEM;
	uint64_t key = hash_pair(row.call, row.code);
	const uint64_t *known = hash_get(&r->row_of, key);
	if (!known) {
		if (hash_set(&r->row_of, key, r->list.len) < 0)
			return -ENOMEM;
		return vec_push(&r->list, row);
	}
	struct sync_row *at = &r->list.data[*known];
	at->count += row.count;
	at->wait_ns += row.wait_ns;
	at->idle_ns += row.idle_ns;
	return 0;
}

static int compare(const void *va, const void *vb, void *data)
{
	const struct sync_row *a = va, *b = vb;
	const struct rows *r = data;
	const uint64_t keys[][2] = {
		{ a->idle_ns, b->idle_ns },
		{ a->wait_ns, b->wait_ns },
		{ a->count, b->count },
	};
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!strcmp(r->sort, sort_keys[i]) && keys[i][0] != keys[i][1])
			return keys[i][0] > keys[i][1] ? -1 : 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(keys) && strcmp(r->sort, "name"); i++) {
		if (keys[i][0] != keys[i][1])
			return keys[i][0] > keys[i][1] ? -1 : 1;
	}
	int rc = strcmp(strtab_text(&r->texts, a->call), strtab_text(&r->texts, b->call));
	return rc ? rc : strcmp(strtab_text(&r->texts, a->code), strtab_text(&r->texts, b->code));
}

static void add_row(struct sheet *t, const struct rows *r, const struct sync_row *row,
		    uint64_t window)
{
	sheet_row(t);
	sheet_text(t, CALL, strtab_text(&r->texts, row->call));
	if (*strtab_text(&r->texts, row->code))
		sheet_text(t, CODE, strtab_text(&r->texts, row->code));
	sheet_number(t, COUNT, row->count);
	sheet_number(t, WAIT, row->wait_ns);
	if (r->metrics[2] >= 0) {
		sheet_number(t, IDLE, row->idle_ns);
		sheet_share(t, SHARE, row->idle_ns, window);
	}
}

static int fill(struct sheet *t, struct rows *r, const struct view *v)
{
	struct strbuf text = { 0 };
	uint64_t window = 0;
	int rc = 0;

	for (uint32_t n = 0; n < profile_node_count(r->p) && !rc; n++)
		rc = add(r, n, &text);
	strbuf_release(&text);
	if (r->list.len)
		qsort_r(r->list.data, r->list.len, sizeof(*r->list.data), compare, r);
	for (int i = 0; i < ACCOUNT_STATE_COUNT; i++)
		window += v->s->all.ns[i];
	for (size_t i = 0; i < r->list.len && i < v->limit && !rc; i++)
		add_row(t, r, &r->list.data[i], window);
	return rc;
}

int view_syncs(struct sheet *t, const struct view *v, struct err *err)
{
	struct rows r = {
		.p = v->p,
		.metrics = { profile_metric_find(v->p, "syncs"),
			     profile_metric_find(v->p, "sync-wait"),
			     profile_metric_find(v->p, "sync-idle") },
		.sort = v->sort ? v->sort : "idle",
	};
	sheet_init(t, "syncs", columns, COLUMN_COUNT);
	int rc = view_check_sort(v->sort, sort_keys, ARRAY_SIZE(sort_keys), err);
	if (rc < 0)
		return rc;
	rc = fill(t, &r, v);
	strtab_release(&r.texts);
	vec_release(&r.list);
	hash_release(&r.row_of);
	return rc < 0 ? err_set(err, rc, "cannot list calls that wait") : 0;
}
