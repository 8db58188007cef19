/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of `diff`. */
#include "base/cleanup.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "cmd/diff.h"
#include "profile/comparable.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* ---- lists of names with a time on each side ---- */

enum {
	NAME,
	BASE,
	NEW,
	CHANGE,
	CHANGE_NS,
	PERCENT,
	MATCHED,
	SPREAD,
	ERROR,
	TESTED,
};

#define CHANGE_COLUMNS(title)                                                                    \
	[NAME] = { "what", title, SHEET_TEXT, 24 }, [BASE] = { "base_ns", "base", SHEET_NS, 0 }, \
	[NEW] = { "new_ns", "new", SHEET_NS, 0 },                                                \
	[CHANGE] = { "change", "change", SHEET_TEXT, 0 },                                        \
	[CHANGE_NS] = { "change_ns", NULL, SHEET_DECIMAL, 0 },                                   \
	[PERCENT] = { "percent", "of itself", SHEET_TEXT, 0 }

static const struct sheet_column part_columns[] = { CHANGE_COLUMNS("WHAT THE TIME WENT TO") };
static const struct sheet_column family_columns[] = { CHANGE_COLUMNS("KERNEL FAMILY") };
static const struct sheet_column code_columns[] = { CHANGE_COLUMNS("CODE") };
static const struct sheet_column row_columns[] = {
	CHANGE_COLUMNS("OP OR KERNEL"),
	[MATCHED] = { "matched", "matched by", SHEET_TEXT, 0 },
	[SPREAD] = { "spread", "steps", SHEET_TEXT, 0 },
	[ERROR] = { "error_percent", NULL, SHEET_DECIMAL, 0 },
	[TESTED] = { "tested_percent", NULL, SHEET_DECIMAL, 0 },
};

static void add_change(struct sheet *t, const char *name, uint64_t base, uint64_t now)
{
	struct strbuf text = { 0 };
	uint64_t size = now > base ? now - base : base - now;
	char percent[32] = "";

	sheet_row(t);
	sheet_text(t, NAME, name);
	sheet_number(t, BASE, base);
	sheet_number(t, NEW, now);
	strbuf_puts(&text, now > base ? "+" : now < base ? "-" : "");
	text_duration(&text, size);
	sheet_text(t, CHANGE, size ? strbuf_text(&text) : "none");
	sheet_decimal(t, CHANGE_NS, (double)now - (double)base);
	if (base && size)
		snprintf(percent, sizeof(percent), "%+.1f %%",
			 100 * ((double)now - (double)base) / (double)base);
	sheet_text(t, PERCENT, base && now ? percent : now ? "new" : base ? "gone" : "");
	strbuf_release(&text);
}

struct entry {
	uint32_t name;
	uint64_t ns[MATCH_SIDES];
};

struct list {
	struct strtab names;
	VEC(struct entry) entries; /* by name's number, less 1 */
};

static void list_release(struct list *l)
{
	strtab_release(&l->names);
	vec_release(&l->entries);
}

static int list_add(struct list *l, const char *name, int side, uint64_t ns)
{
	uint32_t number;
	if (strtab_add(&l->names, *name ? name : "[not known]", &number) < 0)
		return -ENOMEM;
	while (l->entries.len <= number) {
		struct entry e = { .name = (uint32_t)l->entries.len };
		if (vec_push(&l->entries, e) < 0)
			return -ENOMEM;
	}
	l->entries.data[number].ns[side] += ns;
	return 0;
}

/*
 * Divide each by the steps and devices of its side, so that the parts add up to what the sum is then:
 * the running sum is rounded, not each part.
 */
static void list_divide(struct list *l, const struct diff *d)
{
	for (int side = 0; side < MATCH_SIDES; side++) {
		uint64_t sum = 0, divisor = d->sides[side].divisor;
		vec_for_each(&l->entries, e) {
			uint64_t before = sum / divisor;
			sum += e->ns[side];
			e->ns[side] = sum / divisor - before;
		}
	}
}

static uint64_t entry_change(const struct entry *e)
{
	return e->ns[0] > e->ns[1] ? e->ns[0] - e->ns[1] : e->ns[1] - e->ns[0];
}

static int entry_compare(const void *a, const void *b, void *data)
{
	const struct entry *x = a, *y = b;
	const struct list *l = data;
	if (entry_change(x) != entry_change(y))
		return entry_change(x) > entry_change(y) ? -1 : 1;
	return strcmp(strtab_text(&l->names, x->name), strtab_text(&l->names, y->name));
}

/* The largest changes, the rest as one, and the sum. */
static void list_print(struct list *l, struct sheet *t, const struct diff *d)
{
	uint64_t rest[MATCH_SIDES] = { 0, 0 }, all[MATCH_SIDES] = { 0, 0 };
	size_t shown = 0, left = 0;
	char text[48];

	if (l->entries.len)
		qsort_r(l->entries.data, l->entries.len, sizeof(*l->entries.data), entry_compare,
			l);
	vec_for_each(&l->entries, e) {
		if (!e->ns[0] && !e->ns[1])
			continue;
		all[0] += e->ns[0];
		all[1] += e->ns[1];
		if (shown < d->limit) {
			add_change(t, strtab_text(&l->names, e->name), e->ns[0], e->ns[1]);
			shown++;
			continue;
		}
		rest[0] += e->ns[0];
		rest[1] += e->ns[1];
		left++;
	}
	snprintf(text, sizeof(text), "%zu more", left);
	if (left)
		add_change(t, text, rest[0], rest[1]);
	add_change(t, "total", all[0], all[1]);
}

/* ---- the step and its parts ---- */

void diff_side_parts(const struct diff_side *s, uint64_t ret[DIFF_PARTS])
{
	const struct device_summary *all = &s->s.all;
	ret[0] = device_kernel_ns(all);
	ret[1] = all->copy_ns;
	ret[2] = all->collective_ns;
	for (int i = ACCOUNT_BUSY + 1; i < ACCOUNT_STATE_COUNT; i++)
		ret[i + 2] = all->ns[i];
}

void diff_part_name(int part, char *ret, size_t size)
{
	static const char *const busy[] = { "busy: kernels", "busy: copies",
					    "busy: communication" };
	if (part < 3)
		snprintf(ret, size, "%s", busy[part]);
	else
		snprintf(ret, size, "idle: %s", account_state_name((enum account_state)(part - 2)));
}

int diff_parts(struct sheet *t, const struct diff *d, struct err *err)
{
	struct list l = { .entries = { 0 } };
	int rc = 0;

	sheet_init(t, "parts", part_columns, ARRAY_SIZE(part_columns));
	for (int side = 0; side < MATCH_SIDES && !rc; side++) {
		uint64_t parts[DIFF_PARTS];
		diff_side_parts(&d->sides[side], parts);
		for (int i = 0; i < DIFF_PARTS && !rc; i++) {
			char name[64];
			diff_part_name(i, name, sizeof(name));
			rc = list_add(&l, name, side, parts[i]);
		}
	}
	list_divide(&l, d);
	if (!rc)
		list_print(&l, t, d);
	list_release(&l);
	return rc < 0 ? err_set(err, rc, "cannot compare") : 0;
}

/* ---- by family, by code ---- */

/* False: the node is not of that table. */
typedef bool (*name_fn)(struct strbuf *out, const struct profile *p, uint32_t node);

static bool family_name(struct strbuf *out, const struct profile *p, uint32_t node)
{
	struct frame f = profile_frame_get(p, profile_node(p, node).frame);
	if (f.kind != FRAME_KERNEL)
		return false;
	comparable_family(out, &f);
	return true;
}

/* Which frame tells best whose code it was; of equal ones the innermost. */
static int code_rank(const struct frame *f)
{
	bool is_own = f->class == FRAME_CLASS_OWN || f->class == FRAME_CLASS_MODEL;
	switch (f->kind) {
	case FRAME_PYTHON:
		return is_own ? 6 : 5;
	case FRAME_SCOPE:
		return 4;
	case FRAME_CXX:
	case FRAME_NATIVE:
		return is_own ? 3 : 2;
	case FRAME_MISSING:
		return 1;
	default:
		return 0;
	}
}

bool diff_code_name(struct strbuf *out, const struct profile *p, uint32_t node)
{
	struct frame best = { .kind = FRAME_ROOT };
	int rank = 0;

	for (uint32_t n = node; n != PROFILE_ROOT; n = profile_node(p, n).parent) {
		struct frame f = profile_frame_get(p, profile_node(p, n).frame);
		if (code_rank(&f) <= rank)
			continue;
		best = f;
		rank = code_rank(&f);
	}
	if (rank)
		comparable_name(out, &best);
	return true;
}

static int list_profile(struct list *l, const struct diff *d, name_fn name)
{
	struct strbuf text = { 0 };
	int rc = 0;

	for (int side = 0; side < MATCH_SIDES && !rc; side++) {
		const struct profile *p = d->sides[side].p;
		for (uint32_t n = 0; n < profile_node_count(p) && !rc; n++) {
			uint64_t ns = profile_self(p, n, 0);
			strbuf_reset(&text);
			if (!ns || !name(&text, p, n))
				continue;
			rc = strbuf_finish(&text);
			rc = rc ? rc : list_add(l, strbuf_text(&text), side, ns);
		}
	}
	strbuf_release(&text);
	return rc;
}

static int make_list(struct sheet *t, const struct diff *d, name_fn name, struct err *err)
{
	struct list l = { .entries = { 0 } };
	int rc = list_profile(&l, d, name);
	list_divide(&l, d);
	if (!rc)
		list_print(&l, t, d);
	list_release(&l);
	return rc < 0 ? err_set(err, rc, "cannot compare") : 0;
}

int diff_families(struct sheet *t, const struct diff *d, struct err *err)
{
	sheet_init(t, "families", family_columns, ARRAY_SIZE(family_columns));
	return make_list(t, d, family_name, err);
}

int diff_code(struct sheet *t, const struct diff *d, struct err *err)
{
	sheet_init(t, "code", code_columns, ARRAY_SIZE(code_columns));
	return make_list(t, d, diff_code_name, err);
}

/* ---- op by op ---- */

static const char *spread_word(const struct diff_change *c)
{
	return !c->is_known ? "" : c->is_certain ? "beyond spread" : "within spread";
}

static bool is_noise(const struct diff *d, const struct match_row *r)
{
	uint64_t base = r->ns[0] / d->sides[0].divisor, now = r->ns[1] / d->sides[1].divisor;
	uint64_t size = base > now ? base - now : now - base;
	return !size || (base && now && 100.0 * (double)size / (double)base < d->noise);
}

int diff_rows(struct sheet *t, const struct diff *d, struct err *err)
{
	size_t shown = 0, steady = 0, left = 0;
	bool has_runs = d->sides[0].has_runs || d->sides[1].has_runs;
	char text[96];

	sheet_init(t, "changes", row_columns, ARRAY_SIZE(row_columns));
	for (size_t i = 0; i < d->match.row_count; i++) {
		const struct match_row *r = &d->match.rows[i];
		struct diff_change c = { .base = 0 };
		bool is_steady = is_noise(d, r);
		/* Of several runs, the means may hide what their fastest show. */
		if ((!is_steady || has_runs) && diff_row_change(d, (uint32_t)i, &c) < 0)
			return err_set(err, -ENOMEM, "cannot compare");
		if (is_steady && !(has_runs && c.is_certain && fabs(c.percent) >= d->noise)) {
			steady++;
			continue;
		}
		if (shown++ >= d->limit) {
			left++;
			continue;
		}
		add_change(t, r->name, r->ns[0] / d->sides[0].divisor,
			   r->ns[1] / d->sides[1].divisor);
		sheet_text(t, MATCHED, match_level_name(r->level));
		sheet_text(t, SPREAD, spread_word(&c));
		if (c.is_known) {
			sheet_decimal(t, ERROR, c.error_percent);
			sheet_decimal(t, TESTED, c.percent);
		}
		if (c.is_certain && c.is_fastest) {
			snprintf(text, sizeof(text), "at its fastest %+.1f %%", c.percent);
			sheet_note(t, text);
		}
		if (strcmp(r->kernel[0], r->kernel[1]) != 0 && *r->kernel[0] && *r->kernel[1]) {
			CLEANUP_FREE char *note = NULL;
			if (asprintf(&note, "%s -> %s", r->kernel[0], r->kernel[1]) < 0)
				return err_set(err, -ENOMEM, "cannot compare");
			sheet_note(t, note);
		}
	}
	snprintf(text, sizeof(text), "%zu more; %zu changed by less than %g %%", left, steady,
		 d->noise);
	if (sheet_rows(t))
		sheet_note(t, text);
	return 0;
}

enum {
	LEVEL,
	LEVEL_BASE,
	LEVEL_NEW,
};

static const struct sheet_column level_columns[] = {
	[LEVEL] = { "by", "MATCHED BY", SHEET_TEXT, 12 },
	[LEVEL_BASE] = { "base_share", "base %", SHEET_SHARE, 0 },
	[LEVEL_NEW] = { "new_share", "new %", SHEET_SHARE, 0 },
};

int diff_levels(struct sheet *t, const struct diff *d, struct err *err)
{
	uint64_t all[MATCH_SIDES] = { 0, 0 };

	(void)err;
	sheet_init(t, "matched", level_columns, ARRAY_SIZE(level_columns));
	for (int side = 0; side < MATCH_SIDES; side++) {
		for (int level = 0; level < MATCH_LEVEL_COUNT; level++)
			all[side] += d->match.ns[side][level];
	}
	for (int level = 0; level < MATCH_LEVEL_COUNT; level++) {
		if (!d->match.ns[0][level] && !d->match.ns[1][level])
			continue;
		sheet_row(t);
		sheet_text(t, LEVEL, match_level_name((enum match_level)level));
		sheet_share(t, LEVEL_BASE, d->match.ns[0][level], all[0]);
		sheet_share(t, LEVEL_NEW, d->match.ns[1][level], all[1]);
	}
	return 0;
}

/* No memory is a difference. */
static bool is_same_code(const struct diff *d)
{
	struct list l = { .entries = { 0 } };
	bool is_same = list_profile(&l, d, diff_code_name) == 0;

	vec_for_each(&l.entries, e)
		is_same &= e->ns[0] == e->ns[1];
	list_release(&l);
	return is_same;
}

bool diff_is_none(const struct diff *d)
{
	uint64_t base[DIFF_PARTS], now[DIFF_PARTS];

	if (d->is_host)
		return is_same_code(d);

	diff_side_parts(&d->sides[MATCH_BASE], base);
	diff_side_parts(&d->sides[MATCH_NEW], now);
	if (memcmp(base, now, sizeof(base)) != 0 || d->sides[0].divisor != d->sides[1].divisor ||
	    profile_total(d->sides[0].p, PROFILE_ROOT, 0) !=
		    profile_total(d->sides[1].p, PROFILE_ROOT, 0))
		return false;
	for (size_t i = 0; i < d->match.row_count; i++) {
		const struct match_row *r = &d->match.rows[i];
		if (r->ns[0] != r->ns[1] || r->count[0] != r->count[1])
			return false;
	}
	return true;
}
