/* SPDX-License-Identifier: Apache-2.0 */
/* The tree as indented lines. */
#include "base/cleanup.h"
#include "cmd/view.h"

#include <errno.h>
#include <string.h>

enum {
	TOTAL_NS,
	TOTAL,
	SHARE,
	SELF_SHARE,
	FRAME,
	COLUMN_COUNT
};

static const struct sheet_column columns[] = {
	[TOTAL_NS] = { "total_ns", "total", SHEET_NS, 0 },
	[TOTAL] = { "total", "total", SHEET_COUNT, 0 },
	[SHARE] = { "total_share", "%", SHEET_SHARE, 0 },
	[SELF_SHARE] = { "self_share", "self %", SHEET_SHARE, 0 },
	[FRAME] = { "frame", "FRAME", SHEET_TEXT, 24 },
};

/* Deeper frames are not moved to the right any more: a line has only so much room. */
#define INDENT_MAX 40

struct tree {
	struct sheet *t;
	const struct profile *p;
	int metric;
	bool is_time;
	uint64_t all;
	uint8_t *is_shown; /* by node */
};

struct child {
	uint32_t node;
	uint64_t total;
	uint32_t order;
};

static int compare_children(const void *a, const void *b)
{
	const struct child *x = a, *y = b;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void add_line(struct tree *tree, uint32_t node, unsigned depth)
{
	struct strbuf text = { 0 };
	uint64_t total = profile_total(tree->p, node, tree->metric);
	sheet_row(tree->t);
	sheet_number(tree->t, tree->is_time ? TOTAL_NS : TOTAL, total);
	sheet_share(tree->t, SHARE, total, tree->all);
	sheet_share(tree->t, SELF_SHARE, profile_self(tree->p, node, tree->metric), tree->all);
	strbuf_printf(&text, "%*s%s", depth < INDENT_MAX ? (int)depth : INDENT_MAX, "",
		      profile_frame_get(tree->p, profile_node(tree->p, node).frame).name);
	if (strbuf_finish(&text) < 0)
		tree->t->failed = true;
	sheet_text(tree->t, FRAME, strbuf_text(&text));
	strbuf_release(&text);
}

/* A chain of only children with the same total is not indented: depth means choice. */
static int add_children(struct tree *tree, uint32_t node, unsigned depth)
{
	VEC(struct child) list = { 0 };
	int rc = 0;
	for (uint32_t c = profile_node(tree->p, node).first_child; c != PROFILE_NONE;
	     c = profile_node(tree->p, c).next) {
		uint64_t total = profile_total(tree->p, c, tree->metric);
		if (tree->is_shown[c] &&
		    (rc = vec_push(&list, (struct child){ c, total, (uint32_t)list.len })) < 0)
			break;
	}
	if (list.len)
		qsort(list.data, list.len, sizeof(*list.data), compare_children);
	unsigned below = list.len > 1 ? depth + 1 : depth;
	vec_for_each(&list, c) {
		if (rc < 0)
			break;
		add_line(tree, c->node, depth);
		rc = add_children(tree, c->node, below);
	}
	vec_release(&list);
	return rc;
}

struct ranked {
	uint64_t total;
	uint32_t node;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* The @limit widest nodes. A parent is at least as wide as its child and has a smaller number, so
 * that what is below a shown node hangs together. */
static int choose_nodes(struct tree *tree, size_t limit)
{
	uint32_t count = profile_node_count(tree->p);
	CLEANUP_FREE struct ranked *ranked = malloc(count * sizeof(*ranked));
	if (!ranked)
		return -ENOMEM;
	for (uint32_t n = 0; n < count; n++)
		ranked[n] = (struct ranked){ profile_total(tree->p, n, tree->metric), n };
	qsort(ranked, count, sizeof(*ranked), compare_ranked);
	for (uint32_t i = 0; i < count && i <= limit && ranked[i].total; i++)
		tree->is_shown[ranked[i].node] = 1;
	return 0;
}

int view_tree(struct sheet *t, const struct view *v, struct err *err)
{
	const char *name = v->sort ? v->sort : analysis_default_metric(v->a);
	int metric = profile_metric_find(v->p, name);

	sheet_init(t, "tree", columns, COLUMN_COUNT);
	if (metric < 0 && v->sort)
		return err_set(err, -EINVAL, "no metric '%s' in this capture to show a tree of",
			       v->sort);
	if (metric < 0)
		return 0;
	CLEANUP_FREE uint8_t *is_shown = calloc(profile_node_count(v->p), 1);
	struct tree tree = {
		.t = t,
		.p = v->p,
		.metric = metric,
		.is_time = !strcmp(profile_metric_get(v->p, metric).unit, "ns"),
		.all = profile_total(v->p, PROFILE_ROOT, metric),
		.is_shown = is_shown,
	};
	if (!is_shown || choose_nodes(&tree, v->limit) < 0 ||
	    add_children(&tree, PROFILE_ROOT, 0) < 0)
		return err_set(err, -ENOMEM, "cannot show the tree");
	return 0;
}
