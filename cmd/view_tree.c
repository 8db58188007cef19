/* SPDX-License-Identifier: Apache-2.0 */
/* The tree as indented lines; its frames as a list. */
#include "base/cleanup.h"
#include "cmd/tree_options.h"
#include "cmd/view.h"
#include "export/formats.h"
#include "profile/filter.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Behind the columns of numbers: */
enum {
	FRAME,
	/* only for programs */
	DEPTH,
	NAME,
	KIND,
	FILE_NAME,
	LINE,
	FRAME_COLUMNS
};

static const struct sheet_column frame_columns[FRAME_COLUMNS] = {
	[FRAME] = { "frame", "FRAME", SHEET_TEXT, 24 }, [DEPTH] = { "depth", NULL, SHEET_ID, 0 },
	[NAME] = { "name", NULL, SHEET_TEXT, 0 },       [KIND] = { "kind", NULL, SHEET_TEXT, 0 },
	[FILE_NAME] = { "file", NULL, SHEET_TEXT, 0 },  [LINE] = { "line", NULL, SHEET_ID, 0 },
};

/* The columns of numbers where no metrics were asked for. */
enum {
	TOTAL_NS,
	TOTAL,
	SHARE,
	SELF_SHARE,
	NUMBER_COLUMNS
};

static const struct sheet_column number_columns[NUMBER_COLUMNS] = {
	[TOTAL_NS] = { "total_ns", "total", SHEET_NS, 0 },
	[TOTAL] = { "total", "total", SHEET_COUNT, 0 },
	[SHARE] = { "total_share", "%", SHEET_SHARE, 0 },
	[SELF_SHARE] = { "self_share", "self %", SHEET_SHARE, 0 },
};

static_assert(FRAME_COLUMNS + TREE_METRICS_MAX == TREE_COLUMNS_MAX, "room for all columns");

/* Deeper frames are not moved to the right any more: a line has only so much room. */
#define INDENT_MAX 40

struct tree {
	struct sheet *t;
	const struct profile *p;
	struct tree_options *opt;
	struct tree_metric first; /* what decides on order and width */
	int metric;               /* where none was asked for: the one that is shown */
	bool is_time;
	uint8_t *is_shown; /* by node */
	uint32_t *depths;  /* by node; the root's is 1 */
	size_t left_out;   /* nodes that would be there without a limit */
	size_t base;       /* column of the frame */
};

static bool first_value(const struct tree *tree, uint32_t node, double *ret)
{
	*ret = 0;
	return tree_metric_value(&tree->first, tree->p, node, ret);
}

/* ---- names ---- */

/* A frame as Proton writes it, "/srv/train.py:42@step", in parts. */
struct parts {
	struct span file, line, function;
};

/* What is called so itself, though nothing more is known of it. */
static bool parts_of_name(const char *name, struct parts *ret)
{
	const char *at = strrchr(name, '@');
	const char *colon = at ? memrchr(name, ':', (size_t)(at - name)) : NULL;
	if (!colon || colon == name || colon + 1 == at ||
	    strspn(colon + 1, "0123456789") != (size_t)(at - colon - 1))
		return false;
	*ret = (struct parts){
		.file = span_of(name, (size_t)(colon - name)),
		.line = span_of(colon + 1, (size_t)(at - colon - 1)),
		.function = span_of(at + 1, strlen(at + 1)),
	};
	return true;
}

static bool parts_of(const struct frame *f, char line[16], struct parts *ret)
{
	size_t size;
	if (!f->file || !*f->file || !f->line || f->kind == FRAME_SOURCE)
		return parts_of_name(f->name, ret);
	const char *function = export_python_name(f->name, &size);
	ret->file = span_of(f->file, strlen(f->file));
	ret->line = span_of(line, (size_t)snprintf(line, 16, "%" PRIu32, f->line));
	ret->function = span_of(function, size);
	return true;
}

static void add_span(struct strbuf *out, struct span s)
{
	strbuf_add(out, s.data, s.size);
}

/* Cut as Proton's viewer does. */
static void add_name(const struct tree *tree, const struct frame *f, struct strbuf *out)
{
	enum tree_format format = tree->opt->format;
	char line[16];
	struct parts parts;

	if (format == TREE_FORMAT_USUAL || !parts_of(f, line, &parts)) {
		bool is_full = format == TREE_FORMAT_FULL && f->full && *f->full;
		strbuf_puts(out, is_full ? f->full : f->name);
		return;
	}
	const uint8_t *slash = memrchr(parts.file.data, '/', parts.file.size);
	if (slash && format != TREE_FORMAT_FULL)
		parts.file =
			span_of(slash + 1, parts.file.size - (size_t)(slash + 1 - parts.file.data));
	if (format != TREE_FORMAT_FUNCTION_LINE)
		add_span(out, parts.file);
	if (format == TREE_FORMAT_FULL || format == TREE_FORMAT_FILE_FUNCTION_LINE)
		strbuf_putc(out, ':');
	if (format != TREE_FORMAT_FILE_FUNCTION)
		add_span(out, parts.line);
	strbuf_putc(out, '@');
	add_span(out, parts.function);
}

static void add_frame(struct tree *tree, uint32_t node, unsigned indent)
{
	struct frame f = profile_frame_get(tree->p, profile_node(tree->p, node).frame);
	struct strbuf text = { 0 };

	if (node == PROFILE_ROOT)
		strbuf_puts(&text, "ROOT");
	else
		add_name(tree, &f, &text);
	sheet_text(tree->t, tree->base + NAME, strbuf_text(&text));
	struct strbuf line = { 0 };
	strbuf_printf(&line, "%*s%s", indent < INDENT_MAX ? (int)indent : INDENT_MAX, "",
		      strbuf_text(&text));
	if (strbuf_finish(&text) < 0 || strbuf_finish(&line) < 0)
		tree->t->failed = true;
	sheet_text(tree->t, tree->base + FRAME, strbuf_text(&line));
	strbuf_release(&text);
	strbuf_release(&line);
	sheet_number(tree->t, tree->base + DEPTH, tree->depths[node]);
	sheet_text(tree->t, tree->base + KIND, export_kind(f.kind));
	if (f.file && *f.file)
		sheet_text(tree->t, tree->base + FILE_NAME, f.file);
	if (f.line)
		sheet_number(tree->t, tree->base + LINE, f.line);
}

/* ---- lines ---- */

static void add_metrics(struct tree *tree, uint32_t node)
{
	const struct tree_options *opt = tree->opt;
	for (size_t i = 0; i < opt->metric_count; i++) {
		double value;
		if (!tree_metric_value(&opt->metrics[i], tree->p, node, &value))
			continue;
		if (opt->columns[i].kind == SHEET_COUNT)
			sheet_number(tree->t, i, (uint64_t)value);
		else
			sheet_decimal(tree->t, i, value);
	}
	if (opt->metric_count)
		return;
	uint64_t total = profile_total(tree->p, node, tree->metric);
	uint64_t all = profile_total(tree->p, PROFILE_ROOT, tree->metric);
	sheet_number(tree->t, tree->is_time ? TOTAL_NS : TOTAL, total);
	sheet_share(tree->t, SHARE, total, all);
	sheet_share(tree->t, SELF_SHARE, profile_self(tree->p, node, tree->metric), all);
}

static void add_line(struct tree *tree, uint32_t node, unsigned indent)
{
	sheet_row(tree->t);
	add_metrics(tree, node);
	add_frame(tree, node, indent);
}

struct child {
	uint32_t node;
	double value;
	uint32_t order;
};

static int compare_children(const void *a, const void *b)
{
	const struct child *x = a, *y = b;
	if (x->value > y->value || x->value < y->value)
		return x->value > y->value ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* A chain of only children is not indented: depth means choice. */
static int add_children(struct tree *tree, uint32_t node, unsigned depth)
{
	VEC(struct child) list = { 0 };
	int rc = 0;
	for (uint32_t c = profile_node(tree->p, node).first_child; c != PROFILE_NONE;
	     c = profile_node(tree->p, c).next) {
		struct child child = { .node = c, .order = (uint32_t)list.len };
		(void)first_value(tree, c, &child.value);
		if (tree->is_shown[c] && (rc = vec_push(&list, child)) < 0)
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

/* ---- which nodes ---- */

enum {
	BELOW_INCLUDED = 2,
	BELOW_EXCLUDED = 4,
};

static int match(const struct tree *tree, const char *regex, uint8_t **ret, struct err *err)
{
	*ret = NULL;
	return regex ? profile_match(tree->p, regex, ret, err) : 0;
}

/* Parents have smaller numbers than their children. */
static void mark_nodes(struct tree *tree, const uint8_t *include, const uint8_t *exclude)
{
	const struct tree_options *opt = tree->opt;
	uint32_t count = profile_node_count(tree->p);

	for (uint32_t n = 0; n < count; n++) {
		struct profile_node node = profile_node(tree->p, n);
		bool has_parent = node.parent != PROFILE_NONE;
		uint8_t flags = has_parent ? tree->is_shown[node.parent] : 0;
		if (include && n != PROFILE_ROOT && include[node.frame])
			flags |= BELOW_INCLUDED;
		if (exclude && n != PROFILE_ROOT && exclude[node.frame])
			flags |= BELOW_EXCLUDED;
		tree->is_shown[n] = flags;
		/* The border between host and device is no level of its own. */
		bool is_level = profile_frame_get(tree->p, node.frame).kind != FRAME_BOUNDARY;
		tree->depths[n] = has_parent ? tree->depths[node.parent] + is_level : 1;
	}
	/* What is kept for itself keeps those above it. */
	for (uint32_t n = count; n-- > 0;) {
		struct profile_node node = profile_node(tree->p, n);
		uint8_t flags = tree->is_shown[n];
		double value;
		bool is_kept = (flags & 1) || first_value(tree, n, &value);
		if (!(flags & 1) && opt->has_threshold)
			is_kept = is_kept && value >= opt->threshold;
		if (!(flags & 1) && include)
			is_kept = is_kept && (flags & BELOW_INCLUDED);
		is_kept = is_kept && !(flags & BELOW_EXCLUDED);
		tree->is_shown[n] = is_kept;
		if (is_kept && node.parent != PROFILE_NONE)
			tree->is_shown[node.parent] |= 1;
	}
	for (uint32_t n = 0; opt->depth && n < count; n++)
		tree->is_shown[n] &= tree->depths[n] <= opt->depth;
}

struct ranked {
	uint64_t weight;
	uint32_t node;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Of those that are shown, the @limit widest besides the root. A parent is at least as wide as its
 * child and has a smaller number, so that what is below a shown node hangs together. */
static int choose_widest(struct tree *tree, size_t limit)
{
	uint32_t count = profile_node_count(tree->p), kept = 0;
	CLEANUP_FREE struct ranked *ranked = malloc(count * sizeof(*ranked));
	if (!ranked)
		return -ENOMEM;
	for (uint32_t n = 1; n < count; n++) {
		if (tree->is_shown[n])
			ranked[kept++] =
				(struct ranked){ tree_metric_weight(&tree->first, tree->p, n), n };
	}
	if (kept <= limit)
		return 0;
	qsort(ranked, kept, sizeof(*ranked), compare_ranked);
	tree->left_out = kept - limit;
	for (size_t i = limit; i < kept; i++)
		tree->is_shown[ranked[i].node] = 0;
	return 0;
}

static int choose_nodes(struct tree *tree, size_t limit, struct err *err)
{
	CLEANUP_FREE uint8_t *include = NULL, *exclude = NULL;
	int rc = match(tree, tree->opt->include, &include, err);
	rc = rc ? rc : match(tree, tree->opt->exclude, &exclude, err);
	if (rc < 0)
		return rc;
	mark_nodes(tree, include, exclude);
	return choose_widest(tree, limit) < 0 ? err_set(err, -ENOMEM, "cannot show the tree") : 0;
}

/* ---- the views ---- */

static void tree_release(struct tree *tree)
{
	free(tree->is_shown);
	free(tree->depths);
}
DEFINE_CLEANUP_EMBEDDED(tree_release, struct tree)

static void set_columns(struct tree *tree, struct sheet *t, const char *name)
{
	struct tree_options *opt = tree->opt;
	size_t count = opt->metric_count;
	for (size_t i = 0; i < count; i++) {
		const struct tree_metric *m = &opt->metrics[i];
		bool is_sum = m->kind == TREE_TOTAL || m->kind == TREE_SELF;
		opt->columns[i] = (struct sheet_column){
			.key = opt->texts[i],
			.title = opt->texts[i],
			.kind = is_sum && m->factor >= 1 ? SHEET_COUNT : SHEET_FIGURE,
		};
	}
	if (!count) {
		memcpy(opt->columns, number_columns, sizeof(number_columns));
		count = NUMBER_COLUMNS;
	}
	memcpy(opt->columns + count, frame_columns, sizeof(frame_columns));
	tree->base = count;
	sheet_init(t, name, opt->columns, count + FRAME_COLUMNS);
}

/* What was asked for, or the metric that --sort names, or the one that tells most. -ENOENT: there
 * is nothing to show. */
static int tree_init(struct tree *tree, struct sheet *t, const char *title, const struct view *v,
		     struct err *err)
{
	const char *name = v->sort ? v->sort : analysis_default_metric(v->a);
	struct tree_options *opt = v->tree;
	uint32_t count = profile_node_count(v->p);

	*tree = (struct tree){ .t = t, .p = v->p, .opt = opt };
	set_columns(tree, t, title);
	if (opt->metric_count) {
		tree->first = opt->metrics[0];
	} else {
		tree->first = (struct tree_metric){ .kind = TREE_TOTAL, .factor = 1 };
		snprintf(tree->first.parts[0], TREE_METRIC_NAME, "%s", name);
		tree->metric = profile_metric_find(v->p, name);
		if (tree->metric < 0 && v->sort)
			return err_set(err, -EINVAL,
				       "no metric '%s' in this capture to show a tree of", v->sort);
		if (tree->metric < 0)
			return -ENOENT;
		tree->is_time = !strcmp(profile_metric_get(v->p, tree->metric).unit, "ns");
	}
	tree->is_shown = calloc(count, 1);
	tree->depths = calloc(count, sizeof(*tree->depths));
	if (!tree->is_shown || !tree->depths)
		return err_set(err, -ENOMEM, "cannot show the tree");
	return choose_nodes(tree, v->limit, err);
}

static void note_left_out(const struct tree *tree)
{
	char text[80];
	if (!tree->left_out)
		return;
	snprintf(text, sizeof(text), "%zu narrower frames are not shown; -n ROWS shows more",
		 tree->left_out);
	sheet_note(tree->t, text);
}

int view_tree(struct sheet *t, const struct view *v, struct err *err)
{
	CLEANUP(tree_release) struct tree tree = { .t = NULL };
	int rc = tree_init(&tree, t, "tree", v, err);
	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	if (tree.opt->metric_count)
		add_line(&tree, PROFILE_ROOT, 0);
	if (add_children(&tree, PROFILE_ROOT, 0) < 0)
		return err_set(err, -ENOMEM, "cannot show the tree");
	note_left_out(&tree);
	return 0;
}

static int compare_values(const void *a, const void *b)
{
	const struct child *x = a, *y = b;
	if (x->value > y->value || x->value < y->value)
		return x->value > y->value ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

int view_tree_sorted(struct sheet *t, const struct view *v, struct err *err)
{
	CLEANUP(tree_release) struct tree tree = { .t = NULL };
	VEC(struct child) list = { 0 };
	int rc = tree_init(&tree, t, "sorted", v, err);
	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	for (uint32_t n = 1; n < profile_node_count(v->p) && !rc; n++) {
		struct child row = { .node = n };
		struct frame f = profile_frame_get(v->p, profile_node(v->p, n).frame);
		if (tree.is_shown[n] && f.kind != FRAME_BOUNDARY &&
		    first_value(&tree, n, &row.value))
			rc = vec_push(&list, row);
	}
	if (list.len)
		qsort(list.data, list.len, sizeof(*list.data), compare_values);
	vec_for_each(&list, row)
		add_line(&tree, row->node, 0);
	vec_release(&list);
	return rc < 0 ? err_set(err, rc, "cannot list frames") : 0;
}
