/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/match.h"

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/comparable.h"

#include <errno.h>
#include <string.h>

const char *match_level_name(enum match_level level)
{
	static const char *const names[] = {
		[MATCH_PATH] = "path + op + shape", [MATCH_OP] = "op + shape",
		[MATCH_FAMILY] = "kernel family",   [MATCH_NAME] = "name",
		[MATCH_NOTHING] = "nothing",
	};
	return (size_t)level < ARRAY_SIZE(names) ? names[level] : "";
}

void match_release(struct match *m)
{
	for (int side = 0; side < MATCH_SIDES; side++) {
		free(m->item_rows[side]);
		free(m->item_levels[side]);
	}
	free(m->rows);
	if (m->texts)
		strtab_release(m->texts);
	free(m->texts);
	*m = (struct match){ .rows = NULL };
}

/* ---- what is compared ---- */

static struct frame kernel_of(const struct work *w, const struct work_item *item)
{
	return profile_frame_get(w->p, profile_node(w->p, item->node).frame);
}

/* From the leaf on; any order would do. The boundary and the kernel are the item's own. */
static void add_path(struct strbuf *out, const struct work *w, uint32_t node)
{
	for (uint32_t n = profile_node(w->p, node).parent; n != PROFILE_ROOT;
	     n = profile_node(w->p, n).parent) {
		struct frame f = profile_frame_get(w->p, profile_node(w->p, n).frame);
		/* The call into the runtime is another one on another machine. */
		if (f.kind == FRAME_BOUNDARY) {
			n = profile_node(w->p, n).parent;
			if (n == PROFILE_ROOT)
				return;
			continue;
		}
		comparable_name(out, &f);
		strbuf_putc(out, '\n');
	}
}

static void add_what(struct strbuf *out, const struct work *w, const struct work_item *item)
{
	struct frame kernel = kernel_of(w, item);
	if (*item->op)
		strbuf_printf(out, "%s %s", item->op, item->dims);
	else
		comparable_name(out, &kernel);
}

/* False: the item has nothing to compare at that level. */
static bool make_key(struct strbuf *out, const struct work *w, const struct work_item *item,
		     enum match_level level)
{
	struct frame kernel = kernel_of(w, item);

	strbuf_reset(out);
	switch (level) {
	case MATCH_PATH:
		add_what(out, w, item);
		strbuf_putc(out, '\n');
		add_path(out, w, item->node);
		return true;
	case MATCH_OP:
		add_what(out, w, item);
		return *item->op;
	case MATCH_FAMILY:
		comparable_family(out, &kernel);
		return true;
	default:
		comparable_name(out, &kernel);
		return true;
	}
}

/* ---- levels ---- */

struct matching {
	struct match *m;
	struct strbuf key;
	uint32_t *keys[MATCH_SIDES]; /* by item: its key at the present level, + 1 */
};

/* Marks every item whose key the other side has as well. */
static int match_at(struct matching *x, enum match_level level)
{
	struct strtab keys = { 0 };
	VEC(uint8_t) seen = { 0 }; /* by key: a bit for each side */
	int rc = 0;

	for (int side = 0; side < MATCH_SIDES && !rc; side++) {
		const struct work *w = x->m->work[side];
		for (size_t i = 0; i < w->item_count && !rc; i++) {
			uint32_t key = 0;
			x->keys[side][i] = 0;
			if (x->m->item_levels[side][i] != MATCH_NOTHING ||
			    !make_key(&x->key, w, &w->items[i], level))
				continue;
			rc = strbuf_finish(&x->key);
			rc = rc ? rc : strtab_add(&keys, strbuf_text(&x->key), &key);
			while (!rc && seen.len <= key)
				rc = vec_push(&seen, 0);
			if (!rc)
				seen.data[key] |= (uint8_t)(1u << side);
			x->keys[side][i] = key + 1;
		}
	}
	for (int side = 0; side < MATCH_SIDES && !rc; side++) {
		for (size_t i = 0; i < x->m->work[side]->item_count; i++) {
			uint32_t key = x->keys[side][i];
			if (key && seen.data[key - 1] == 3)
				x->m->item_levels[side][i] = (uint8_t)level;
		}
	}
	strtab_release(&keys);
	vec_release(&seen);
	return rc;
}

/* ---- rows ---- */

/* What an item's row is called: for a family it is that, since more was not the same. */
static void row_name(struct strbuf *out, const struct work *w, const struct work_item *item,
		     enum match_level level)
{
	struct frame kernel = kernel_of(w, item);
	strbuf_reset(out);
	if (level == MATCH_FAMILY)
		comparable_family(out, &kernel);
	else if (level == MATCH_NAME)
		comparable_name(out, &kernel);
	else
		add_what(out, w, item);
}

static uint64_t change(const struct match_row *r)
{
	uint64_t a = r->ns[MATCH_BASE], b = r->ns[MATCH_NEW];
	return a > b ? a - b : b - a;
}

static int row_compare(const void *a, const void *b)
{
	const struct match_row *x = a, *y = b;
	if (change(x) != change(y))
		return change(x) > change(y) ? -1 : 1;
	return strcmp(x->name, y->name);
}

struct row_builder {
	VEC(struct match_row) rows;
	VEC(uint64_t) largest[MATCH_SIDES]; /* by row: the time of its `kernel` */
	struct hash by_name;
};

static int add_item(struct matching *x, struct row_builder *b, int side, size_t i)
{
	const struct work *w = x->m->work[side];
	const struct work_item *item = &w->items[i];
	enum match_level level = (enum match_level)x->m->item_levels[side][i];
	uint32_t text, row;

	row_name(&x->key, w, item, level);
	if (strbuf_finish(&x->key) < 0 || strtab_add(x->m->texts, strbuf_text(&x->key), &text) < 0)
		return -ENOMEM;
	/* A family and an op may be called the same; what has vanished is apart from what has not. */
	uint64_t key = hash_pair(text + 1, level == MATCH_PATH ? MATCH_OP : level);
	const uint64_t *known = hash_get(&b->by_name, key);
	if (known) {
		row = (uint32_t)*known;
	} else {
		row = (uint32_t)b->rows.len;
		struct match_row r = { .name = strtab_text(x->m->texts, text),
				       .kernel = { "", "" },
				       .level = level,
				       .made = row };
		if (hash_set(&b->by_name, key, row) < 0 || vec_push(&b->rows, r) < 0 ||
		    vec_push(&b->largest[0], 0) < 0 || vec_push(&b->largest[1], 0) < 0)
			return -ENOMEM;
	}
	struct match_row *r = &b->rows.data[row];
	r->ns[side] += item->ns;
	r->count[side] += item->count;
	r->level = level > r->level ? level : r->level;
	if (item->ns >= b->largest[side].data[row]) {
		b->largest[side].data[row] = item->ns;
		r->kernel[side] = kernel_of(w, item).name;
	}
	x->m->item_rows[side][i] = row;
	x->m->ns[side][level] += item->ns;
	return 0;
}

/* Largest change first; the items follow. */
static int sort_rows(struct match *m)
{
	CLEANUP_FREE uint32_t *places = malloc((m->row_count + 1) * sizeof(*places));
	if (!places)
		return -ENOMEM;
	if (m->row_count)
		qsort(m->rows, m->row_count, sizeof(*m->rows), row_compare);
	for (size_t i = 0; i < m->row_count; i++)
		places[m->rows[i].made] = (uint32_t)i;
	for (int side = 0; side < MATCH_SIDES; side++) {
		for (size_t i = 0; i < m->work[side]->item_count; i++)
			m->item_rows[side][i] = places[m->item_rows[side][i]];
	}
	return 0;
}

static int make_rows(struct matching *x)
{
	struct row_builder b = { .by_name = { 0 } };
	int rc = 0;
	for (int side = 0; side < MATCH_SIDES && !rc; side++) {
		for (size_t i = 0; i < x->m->work[side]->item_count && !rc; i++)
			rc = add_item(x, &b, side, i);
	}
	x->m->rows = b.rows.data;
	x->m->row_count = b.rows.len;
	vec_release(&b.largest[0]);
	vec_release(&b.largest[1]);
	hash_release(&b.by_name);
	return rc ? rc : sort_rows(x->m);
}

int match_work(const struct work *base, const struct work *now, struct match *ret)
{
	struct matching x = { .m = ret };
	int rc = 0;

	*ret = (struct match){ .work = { base, now } };
	ret->texts = calloc(1, sizeof(*ret->texts));
	for (int side = 0; side < MATCH_SIDES; side++) {
		size_t n = ret->work[side]->item_count + 1;
		ret->item_rows[side] = calloc(n, sizeof(**ret->item_rows));
		ret->item_levels[side] = malloc(n);
		x.keys[side] = calloc(n, sizeof(**x.keys));
		if (!ret->item_rows[side] || !ret->item_levels[side] || !x.keys[side])
			rc = -ENOMEM;
		else
			memset(ret->item_levels[side], MATCH_NOTHING, n);
	}
	rc = ret->texts ? rc : -ENOMEM;
	for (int level = MATCH_PATH; level < MATCH_NOTHING && !rc; level++)
		rc = match_at(&x, (enum match_level)level);
	rc = rc ? rc : make_rows(&x);
	strbuf_release(&x.key);
	free(x.keys[0]);
	free(x.keys[1]);
	return rc;
}
