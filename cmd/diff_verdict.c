/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `diff` in a few lines; the tables behind it are its reasons. */
#include "base/cleanup.h"
#include "base/vec.h"
#include "cmd/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* So many causes, each at least such a part of the whole change. */
#define CAUSES      3
#define CAUSE_SHARE 0.1
#define NAME_BYTES  48

uint64_t diff_step_ns(const struct diff_side *s)
{
	return profile_total(s->p, PROFILE_ROOT, 0) / s->divisor;
}

uint64_t diff_device_ns(const struct diff_side *s)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < s->work.item_count; i++)
		sum += s->work.items[i].ns;
	return sum / s->divisor;
}

static void add_change(struct strbuf *out, const char *what, uint64_t base, uint64_t now)
{
	strbuf_printf(out, "%s ", what);
	text_duration(out, base);
	strbuf_puts(out, " -> ");
	text_duration(out, now);
	if (base)
		strbuf_printf(out, " (%+.1f %%)",
			      100 * ((double)now - (double)base) / (double)base);
}

/* ---- what most of it is ---- */

struct cause {
	double change_ns;
	char part[64]; /* "idle: host late"; "": device work */
	uint32_t row;  /* of the match */
};

struct causes {
	VEC(struct cause) list;
};

/* What happened in the direction of the whole, largest first. */
static int compare_causes(const void *a, const void *b, void *data)
{
	const struct cause *x = a, *y = b;
	double sign = *(const double *)data;
	return x->change_ns * sign > y->change_ns * sign ? -1 : x->change_ns != y->change_ns;
}

static int find_causes(const struct diff *d, struct causes *c)
{
	uint64_t parts[MATCH_SIDES][DIFF_PARTS];
	for (int side = 0; side < MATCH_SIDES; side++)
		diff_side_parts(&d->sides[side], parts[side]);
	for (int i = 3; i < DIFF_PARTS; i++) {
		struct cause cause = {
			.change_ns = (double)(parts[1][i] / d->sides[1].divisor) -
				     (double)(parts[0][i] / d->sides[0].divisor),
		};
		diff_part_name(i, cause.part, sizeof(cause.part));
		if (vec_push(&c->list, cause) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < d->match.row_count; i++) {
		const struct match_row *r = &d->match.rows[i];
		struct cause cause = {
			.change_ns = (double)(r->ns[1] / d->sides[1].divisor) -
				     (double)(r->ns[0] / d->sides[0].divisor),
			.row = (uint32_t)i,
		};
		if (vec_push(&c->list, cause) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The code that most of a row's time stands under, on the side where there is more of it. */
static void add_code(struct strbuf *out, const struct diff *d, uint32_t row)
{
	const struct match_row *r = &d->match.rows[row];
	int side = r->ns[1] >= r->ns[0] ? MATCH_NEW : MATCH_BASE;
	const struct work *w = &d->sides[side].work;
	const struct work_item *most = NULL;

	for (size_t i = 0; i < w->item_count; i++) {
		if (d->match.item_rows[side][i] == row && (!most || w->items[i].ns > most->ns))
			most = &w->items[i];
	}
	struct strbuf name = { 0 };
	if (most)
		diff_code_name(&name, w->p, most->node);
	if (name.len)
		strbuf_printf(out, " under %s", strbuf_text(&name));
	out->failed |= name.failed;
	strbuf_release(&name);
}

static void add_signed(struct strbuf *out, double ns)
{
	strbuf_putc(out, ns < 0 ? '-' : '+');
	text_duration(out, (uint64_t)(ns < 0 ? -ns : ns));
}

/* The shapes of some ops fill a page; the tables have them all. */
static void add_name(struct strbuf *out, const char *name)
{
	size_t size = strnlen(name, NAME_BYTES + 1);
	while (size > NAME_BYTES && (name[size - 1] & 0xc0) == 0x80) /* inside a character */
		size--;
	size -= size > NAME_BYTES;
	strbuf_add(out, name, size);
	strbuf_puts(out, name[size] ? ".." : "");
}

/* Without others' work, "at its fastest", where only that is certain. */
static void add_tested(struct strbuf *out, const struct diff_change *c)
{
	strbuf_printf(out, "%s %+.1f %%, %s the spread",
		      c->is_fastest ? "at its fastest" : "step by step", c->percent,
		      c->is_certain ? "beyond" : "within");
}

static int add_cause(struct strbuf *out, const struct diff *d, const struct cause *c, bool is_known)
{
	struct diff_change change;

	strbuf_puts(out, "\n  ");
	add_signed(out, c->change_ns);
	strbuf_puts(out, "  ");
	if (*c->part) {
		strbuf_puts(out, c->part);
		return 0;
	}
	const struct match_row *r = &d->match.rows[c->row];
	add_name(out, r->name);
	add_code(out, d, c->row);
	if (!r->ns[0] || !r->ns[1]) {
		strbuf_puts(out, r->ns[1] ? ", new" : ", gone");
		return 0;
	}
	if (!is_known)
		return 0;
	if (diff_row_change(d, c->row, &change) < 0)
		return -ENOMEM;
	strbuf_puts(out, ", ");
	add_tested(out, &change);
	return 0;
}

static int add_causes(struct strbuf *out, const struct diff *d, bool is_known)
{
	double whole = (double)diff_step_ns(&d->sides[1]) - (double)diff_step_ns(&d->sides[0]);
	double sign = whole < 0 ? -1 : 1;
	struct causes c = { .list = { 0 } };
	int rc = find_causes(d, &c);

	if (!rc && c.list.len)
		qsort_r(c.list.data, c.list.len, sizeof(*c.list.data), compare_causes, &sign);
	strbuf_puts(out, "\nMost of it:");
	for (size_t i = 0; i < c.list.len && i < CAUSES && !rc; i++) {
		if (c.list.data[i].change_ns * sign > CAUSE_SHARE * whole * sign)
			rc = add_cause(out, d, &c.list.data[i], is_known);
	}
	strbuf_putc(out, '\n');
	vec_release(&c.list);
	return rc;
}

static void add_step_change(struct strbuf *out, const struct diff_change *c)
{
	const char *of = c->has_runs ? "runs" : "steps";

	strbuf_putc(out, '\n');
	if (c->is_certain)
		strbuf_printf(out, "%s %+.1f %%, beyond the spread of the %s.",
			      c->is_fastest ? "A step at its fastest" : "Step by step", c->percent,
			      of);
	else
		strbuf_printf(
			out,
			"Step by step %+.1f %%, within the spread of the %s: whether it changed "
			"cannot be told%s.",
			c->percent, of,
			c->has_runs ? "" : "; several recordings of each, merged, tell more");
}

/* Of several runs: what is beyond their spread, be its part of the whole as small as it may. */
static int add_certain(struct strbuf *out, const struct diff *d)
{
	size_t shown = 0;

	for (size_t i = 0; i < d->match.row_count && shown < CAUSES; i++) {
		struct diff_change c;
		if (diff_row_change(d, (uint32_t)i, &c) < 0)
			return -ENOMEM;
		if (!c.is_certain || fabs(c.percent) < d->noise)
			continue;
		strbuf_puts(out, shown++ ? "\n  " : "Beyond the spread of the runs:\n  ");
		add_name(out, d->match.rows[i].name);
		strbuf_puts(out, c.base <= 0 || c.now <= 0 ? ", "
				 : c.is_fastest            ? ", at its fastest "
							   : ", step by step ");
		diff_add_percent(out, &c);
	}
	strbuf_puts(out, shown ? "\n" : "");
	return 0;
}

/* Samples are rare events: so many standard errors of their number are seldom luck. */
#define SAMPLE_ERRORS 4.0

/* Of CPU time nothing but the number of samples tells how sure it is. */
static void add_host(struct strbuf *out, const struct diff *d)
{
	double counts[MATCH_SIDES];

	add_change(out, "CPU time", diff_step_ns(&d->sides[0]), diff_step_ns(&d->sides[1]));
	for (int side = 0; side < MATCH_SIDES; side++)
		counts[side] = (double)diff_step_ns(&d->sides[side]) / 1e9 *
			       (double)d->sides[side].s.frequency;
	strbuf_putc(out, '\n');
	if (counts[0] <= 0 || counts[1] <= 0)
		return;
	double error =
		100 * SAMPLE_ERRORS * counts[1] / counts[0] * sqrt(1 / counts[0] + 1 / counts[1]);
	strbuf_printf(out, "%.0f and %.0f samples: up to %.1f %% can be luck.\n", counts[0],
		      counts[1], error);
}

int diff_verdict(const struct diff *d, struct strbuf *out, struct err *err)
{
	const struct diff_side *b = &d->sides[0], *n = &d->sides[1];
	struct diff_change c;

	if (diff_step_change(d, &c) < 0)
		return err_set(err, -ENOMEM, "cannot compare");
	if (diff_is_none(d)) {
		strbuf_puts(out, "No difference.\n");
		return strbuf_finish(out);
	}
	if (d->is_host) {
		add_host(out, d);
		return strbuf_finish(out) < 0 ? err_set(err, -ENOMEM, "cannot compare") : 0;
	}
	add_change(out, d->is_per_step ? "step" : "time", diff_step_ns(b), diff_step_ns(n));
	add_change(out, ", device work", diff_device_ns(b), diff_device_ns(n));
	if (!c.is_known)
		strbuf_printf(out, "\nThe spread of steps is not known: it takes %d on both sides.",
			      DIFF_STEPS_MIN);
	else
		add_step_change(out, &c);
	int rc = 0;
	if (diff_step_ns(b) != diff_step_ns(n))
		rc = add_causes(out, d, c.is_known);
	else
		strbuf_putc(out, '\n');
	if (c.is_known && c.has_runs)
		rc = rc ? rc : add_certain(out, d);
	rc = rc ? rc : strbuf_finish(out);
	return rc < 0 ? err_set(err, rc, "cannot compare") : 0;
}
