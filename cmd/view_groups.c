/* SPDX-License-Identifier: Apache-2.0 */
/* Device work and idle time by what stands around the launch: operators, modules of a model. */
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "cmd/view.h"
#include "cmd/view_caller.h"

#include <errno.h>
#include <string.h>

enum {
	NAME,
	TIME,
	SHARE,
	TOTAL,
	LAUNCHES,
	IDLE,
	COLUMN_COUNT
};

static const struct sheet_column op_columns[] = {
	[NAME] = { "op", "OPERATOR", SHEET_TEXT, 24 },
	[TIME] = { "device_time_ns", "time", SHEET_NS, 0 },
	[SHARE] = { "device_time_share", "%", SHEET_SHARE, 0 },
	[TOTAL] = { "total_ns", "with inner", SHEET_NS, 0 },
	[LAUNCHES] = { "launches", "launches", SHEET_COUNT, 0 },
	[IDLE] = { "idle_ns", "idle", SHEET_NS, 0 },
};

static const struct sheet_column module_columns[] = {
	[NAME] = { "module", "MODULE", SHEET_TEXT, 24 },
	[TIME] = { "device_time_ns", "time", SHEET_NS, 0 },
	[SHARE] = { "device_time_share", "%", SHEET_SHARE, 0 },
	[TOTAL] = { "total_ns", "with inner", SHEET_NS, 0 },
	[LAUNCHES] = { "launches", "launches", SHEET_COUNT, 0 },
	[IDLE] = { "idle_ns", "idle", SHEET_NS, 0 },
};

static const char *const sort_keys[] = { "time", "total", "launches", "idle", "name" };

struct group {
	uint32_t name;
	uint32_t last; /* the node that was counted last in `total`, + 1 */
	uint64_t time_ns, total_ns, launches, idle_ns;
};

struct groups {
	const struct profile *p;
	struct span (*name_of)(const struct frame *f); /* empty: not such a frame */
	int time, launches, idle;
	uint32_t *of_frame; /* group + 1; 0: none */
	struct strtab names;
	VEC(struct group) list;
	struct hash by_name;
	const char *sort;
};

/* "aten::mm": what a framework calls its operators; C++ functions have brackets. */
static struct span op_name(const struct frame *f)
{
	bool is_op = f->kind == FRAME_CXX && f->class == FRAME_CLASS_FRAMEWORK &&
		     strstr(f->name, "::") && !strchr(f->name, '(');
	return span_of(f->name, is_op ? strlen(f->name) : 0);
}

/* By frame, once: the layers of a model are many frames and one module. */
static int groups_name(struct groups *g)
{
	g->of_frame = calloc(profile_frame_count(g->p) + 1, sizeof(*g->of_frame));
	if (!g->of_frame)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile_frame_count(g->p); i++) {
		struct frame f = profile_frame_get(g->p, i);
		struct span name = g->name_of(&f);
		uint32_t number;
		if (!name.size)
			continue;
		CLEANUP_FREE char *text = strndup((const char *)name.data, name.size);
		if (!text || strtab_add(&g->names, text, &number) < 0)
			return -ENOMEM;
		const uint64_t *known = hash_get(&g->by_name, number);
		g->of_frame[i] = known ? (uint32_t)*known + 1 : (uint32_t)g->list.len + 1;
		if (!known && (hash_set(&g->by_name, number, g->list.len) < 0 ||
			       vec_push(&g->list, (struct group){ .name = number }) < 0))
			return -ENOMEM;
	}
	return 0;
}

static uint64_t self(const struct groups *g, uint32_t node, int metric)
{
	return metric < 0 ? 0 : profile_self(g->p, node, metric);
}

/* To the innermost, and in `total` to each that it is in, once. */
static void groups_add(struct groups *g, uint32_t node)
{
	uint64_t time = self(g, node, g->time), launches = self(g, node, g->launches);
	uint64_t idle = self(g, node, g->idle);
	bool is_inner = true;

	if (!time && !launches && !idle)
		return;
	for (uint32_t n = node; n != PROFILE_NONE; n = profile_node(g->p, n).parent) {
		uint32_t number = g->of_frame[profile_node(g->p, n).frame];
		struct group *at = number ? &g->list.data[number - 1] : NULL;
		if (at && is_inner) {
			at->time_ns += time;
			at->launches += launches;
			at->idle_ns += idle;
			is_inner = false;
		}
		if (at && at->last != node + 1) {
			at->total_ns += time;
			at->last = node + 1;
		}
	}
}

static int compare(const void *va, const void *vb, void *data)
{
	const struct group *a = va, *b = vb;
	const struct groups *g = data;
	const uint64_t keys[][2] = {
		{ a->time_ns, b->time_ns },
		{ a->total_ns, b->total_ns },
		{ a->launches, b->launches },
		{ a->idle_ns, b->idle_ns },
	};
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!strcmp(g->sort, sort_keys[i]) && keys[i][0] != keys[i][1])
			return keys[i][0] > keys[i][1] ? -1 : 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(keys) && strcmp(g->sort, "name"); i++) {
		if (keys[i][0] != keys[i][1])
			return keys[i][0] > keys[i][1] ? -1 : 1;
	}
	return strcmp(strtab_text(&g->names, a->name), strtab_text(&g->names, b->name));
}

static void add_row(struct sheet *t, const struct groups *g, const char *name,
		    const struct group *row, uint64_t all)
{
	sheet_row(t);
	sheet_text(t, NAME, name);
	if (g->time >= 0) {
		sheet_number(t, TIME, row->time_ns);
		sheet_share(t, SHARE, row->time_ns, all);
		if (row->name)
			sheet_number(t, TOTAL, row->total_ns);
	}
	if (g->launches >= 0)
		sheet_number(t, LAUNCHES, row->launches);
	if (g->idle >= 0)
		sheet_number(t, IDLE, row->idle_ns);
}

static void add_rows(struct sheet *t, const struct groups *g, size_t limit)
{
	uint64_t all = g->time < 0 ? 0 : profile_total(g->p, PROFILE_ROOT, g->time);
	struct group rest = { 0 };
	char text[64];
	size_t count = g->list.len, shown = count <= limit + 1 ? count : limit;

	for (size_t i = 0; i < count; i++) {
		const struct group *row = &g->list.data[i];
		if (i < shown) {
			add_row(t, g, strtab_text(&g->names, row->name), row, all);
			continue;
		}
		rest.time_ns += row->time_ns;
		rest.launches += row->launches;
		rest.idle_ns += row->idle_ns;
	}
	if (shown < count) {
		snprintf(text, sizeof(text), "%zu more", count - shown);
		add_row(t, g, text, &rest, all);
	}
}

static void drop_empty(struct groups *g)
{
	size_t kept = 0;
	for (size_t i = 0; i < g->list.len; i++) {
		const struct group *row = &g->list.data[i];
		if (row->total_ns || row->launches || row->idle_ns)
			g->list.data[kept++] = *row;
	}
	g->list.len = kept;
}

static int fill(struct sheet *t, const struct view *v,
		struct span (*name_of)(const struct frame *f), struct err *err)
{
	struct groups g = {
		.p = v->p,
		.name_of = name_of,
		.time = profile_metric_find(v->p, "device-time"),
		.launches = profile_metric_find(v->p, "launches"),
		.idle = profile_metric_find(v->p, "idle-host"),
		.sort = v->sort ? v->sort : "time",
	};
	int rc = view_check_sort(v->sort, sort_keys, ARRAY_SIZE(sort_keys), err);
	if (rc < 0)
		return rc;
	rc = groups_name(&g);
	for (uint32_t n = 0; n < profile_node_count(g.p) && !rc; n++)
		groups_add(&g, n);
	drop_empty(&g);
	if (!rc && g.list.len) {
		qsort_r(g.list.data, g.list.len, sizeof(*g.list.data), compare, &g);
		add_rows(t, &g, v->limit);
	}
	free(g.of_frame);
	strtab_release(&g.names);
	vec_release(&g.list);
	hash_release(&g.by_name);
	return rc < 0 ? err_set(err, rc, "cannot list groups") : 0;
}

int view_ops(struct sheet *t, const struct view *v, struct err *err)
{
	sheet_init(t, "ops", op_columns, COLUMN_COUNT);
	return fill(t, v, op_name, err);
}

int view_modules(struct sheet *t, const struct view *v, struct err *err)
{
	sheet_init(t, "modules", module_columns, COLUMN_COUNT);
	return fill(t, v, caller_module, err);
}
