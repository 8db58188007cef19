/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a change is one: means of steps against their spread, and the conditions of --fail-on. */
#include "base/cleanup.h"
#include "cmd/diff.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Welch's test. A report shows some ten changes, each with its chance to be taken for one by luck;
 * at four standard errors that is, with 20 steps each, one in 3,500.
 */
#define CERTAIN_ERRORS 4.0
/* Two recordings of one program differ by more than their steps do: clocks, heat, neighbours. */
#define CERTAIN_PERCENT 0.5
/* On a busy machine means differ by chance more than steps tell that they do, as what disturbs them
 * comes in waves. Then their fast quarter differs by less than this part of it. */
#define FAST_SHARE 0.5
#define RUNS       5

static double mean(const uint64_t *values, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += (double)values[i];
	return count ? sum / (double)count : 0;
}

/* Of the mean. */
static double error_squared(const uint64_t *values, size_t count, double middle)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += ((double)values[i] - middle) * ((double)values[i] - middle);
	return count > 1 ? sum / (double)(count - 1) / (double)count : 0;
}

/* The same by the means of runs of steps: what disturbs steps that follow each other alike makes them
 * tell less than as many that are independent. */
static double error_squared_in_runs(const uint64_t *values, size_t count, double middle)
{
	size_t length = count / RUNS;
	double sum = 0;
	if (!length)
		return 0;
	for (size_t i = 0; i < RUNS; i++) {
		double difference = mean(values + i * length, length) - middle;
		sum += difference * difference;
	}
	return sum / (RUNS - 1) / RUNS;
}

static double error_of(const uint64_t *values, size_t count, double middle)
{
	double alone = error_squared(values, count, middle);
	double in_runs = error_squared_in_runs(values, count, middle);
	return in_runs > alone ? in_runs : alone;
}

static int compare_values(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* The value that a quarter of them do not exceed. */
static double quarter(uint64_t *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), compare_values);
	return (double)values[(count - 1) / 4];
}

struct diff_change diff_change(uint64_t *const values[MATCH_SIDES],
			       const size_t counts[MATCH_SIDES])
{
	struct diff_change c = {
		.base = mean(values[MATCH_BASE], counts[MATCH_BASE]),
		.now = mean(values[MATCH_NEW], counts[MATCH_NEW]),
	};
	double difference = c.now - c.base;
	double error = error_of(values[MATCH_BASE], counts[MATCH_BASE], c.base) +
		       error_of(values[MATCH_NEW], counts[MATCH_NEW], c.now);
	c.error_percent = c.base > 0 ? 100 * sqrt(error) / c.base : 0;
	c.percent = c.base > 0 ? 100 * difference / c.base : c.now > 0 ? (double)INFINITY : 0.0;
	c.is_known = counts[MATCH_BASE] >= DIFF_STEPS_MIN && counts[MATCH_NEW] >= DIFF_STEPS_MIN;
	/* Other programs make some steps longer, more work makes all of them longer. */
	double fast = quarter(values[MATCH_NEW], counts[MATCH_NEW]) -
		      quarter(values[MATCH_BASE], counts[MATCH_BASE]);
	c.is_certain = c.is_known &&
		       difference * difference > CERTAIN_ERRORS * CERTAIN_ERRORS * error &&
		       fabs(c.percent) >= CERTAIN_PERCENT &&
		       fast * difference >= FAST_SHARE * difference * difference;
	return c;
}

/* The values of the steps that count: how many. */
static size_t leave_out(const struct work *w, uint64_t *values)
{
	size_t count = 0;
	for (size_t i = 0; i < w->step_count; i++) {
		if (!w->steps[i].is_left_out)
			values[count++] = values[i];
	}
	return count;
}

/* By step, what @fill puts there. */
typedef int (*fill_fn)(const struct diff *d, int side, const void *data, uint64_t *ret);

static int change_of(const struct diff *d, fill_fn fill, const void *data, struct diff_change *ret)
{
	CLEANUP_FREE uint64_t *base = NULL, *now = NULL;
	uint64_t **values[] = { &base, &now };
	size_t counts[MATCH_SIDES];

	for (int side = 0; side < MATCH_SIDES; side++) {
		const struct work *w = &d->sides[side].work;
		*values[side] = calloc(w->step_count + 1, sizeof(uint64_t));
		if (!*values[side] || fill(d, side, data, *values[side]) < 0)
			return -ENOMEM;
		counts[side] = leave_out(w, *values[side]);
	}
	*ret = diff_change((uint64_t *const[]){ base, now }, counts);
	memcpy(ret->counts, counts, sizeof(counts));
	return 0;
}

static int fill_row(const struct diff *d, int side, const void *data, uint64_t *ret)
{
	const struct work *w = &d->sides[side].work;
	uint32_t row = *(const uint32_t *)data;
	CLEANUP_FREE uint8_t *meant = calloc(w->item_count + 1, 1);
	if (!meant)
		return -ENOMEM;
	for (size_t i = 0; i < w->item_count; i++)
		meant[i] = d->match.item_rows[side][i] == row;
	work_steps_of(w, meant, ret);
	return 0;
}

int diff_row_change(const struct diff *d, uint32_t row, struct diff_change *ret)
{
	return change_of(d, fill_row, &row, ret);
}

static int fill_step(const struct diff *d, int side, const void *data, uint64_t *ret)
{
	const struct work *w = &d->sides[side].work;
	(void)data;
	for (size_t i = 0; i < w->step_count; i++)
		ret[i] = w->steps[i].ns;
	return 0;
}

int diff_step_change(const struct diff *d, struct diff_change *ret)
{
	return change_of(d, fill_step, NULL, ret);
}

static int fill_idle(const struct diff *d, int side, const void *data, uint64_t *ret)
{
	const struct work *w = &d->sides[side].work;
	(void)data;
	for (size_t i = 0; i < w->step_count; i++)
		ret[i] = w->steps[i].ns - w->steps[i].busy_ns;
	return 0;
}

/* ---- conditions ---- */

static bool has_module(const struct profile *p, uint32_t node, const char *pattern)
{
	for (uint32_t n = node; n != PROFILE_ROOT; n = profile_node(p, n).parent) {
		struct frame f = profile_frame_get(p, profile_node(p, n).frame);
		if (f.kind == FRAME_SCOPE && !fnmatch(pattern, f.name, 0))
			return true;
	}
	return false;
}

static bool is_meant(const struct diff_gate *gate, const struct profile *p, uint32_t node)
{
	struct frame f = profile_frame_get(p, profile_node(p, node).frame);
	if (!strcmp(gate->subject, "module"))
		return has_module(p, node, gate->pattern);
	return !fnmatch(gate->pattern, f.name, 0) ||
	       (f.full && *f.full && !fnmatch(gate->pattern, f.full, 0));
}

static int fill_gate(const struct diff *d, int side, const void *data, uint64_t *ret)
{
	const struct work *w = &d->sides[side].work;
	CLEANUP_FREE uint8_t *meant = calloc(w->item_count + 1, 1);
	if (!meant)
		return -ENOMEM;
	for (size_t i = 0; i < w->item_count; i++)
		meant[i] = is_meant(data, w->p, w->items[i].node);
	work_steps_of(w, meant, ret);
	return 0;
}

static const char *skip_blanks(const char *p)
{
	return p + strspn(p, " \t");
}

/* "> +5%" behind the subject. */
static int parse_limit(const char *text, struct diff_gate *ret)
{
	const char *p = skip_blanks(text);
	if (*p != '>' && *p != '<')
		return -EINVAL;
	ret->is_less = *p == '<';
	p = skip_blanks(p + 1);
	bool is_negative = *p == '-';
	if (*p == '+' || *p == '-')
		p++;
	if (!strspn(p, "0123456789."))
		return -EINVAL;
	char *end;
	double number = strtod(p, &end);
	ret->percent = is_negative ? -number : number;
	end = (char *)skip_blanks(end);
	return *end == '%' && !*skip_blanks(end + 1) && isfinite(number) ? 0 : -EINVAL;
}

int diff_gate_parse(const char *text, struct diff_gate *ret, struct err *err)
{
	static const char *const subjects[] = { "step", "idle", "kernel", "module" };
	struct diff_gate g = { .percent = 0 };
	const char *p = skip_blanks(text);
	size_t size = strcspn(p, " \t<>");
	const char *limit = strpbrk(p, "<>"); /* names of templates hold more of them */
	for (const char *more = limit; more; more = strpbrk(more + 1, "<>"))
		limit = more;
	bool is_known = false;

	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
		is_known |= strlen(subjects[i]) == size && !strncmp(subjects[i], p, size);
	if (!is_known || !limit || limit < p + size)
		return err_set(err, -EINVAL,
			       "cannot understand '%s'; 'step > +5%%', 'idle > +5%%', "
			       "'kernel PATTERN > +5%%' and 'module PATTERN > +5%%' are known",
			       text);
	memcpy(g.subject, p, size);
	p = skip_blanks(p + size);
	size_t len = (size_t)(limit - p);
	while (len && strchr(" \t", p[len - 1]))
		len--;
	bool needs_pattern = !strcmp(g.subject, "kernel") || !strcmp(g.subject, "module");
	if (len >= sizeof(g.pattern) || needs_pattern != (len > 0) || parse_limit(limit, &g) < 0)
		return err_set(err, -EINVAL,
			       "cannot understand '%s': it is like 'step > +5%%' or "
			       "'kernel gemm* > +5%%'",
			       text);
	memcpy(g.pattern, p, len);
	*ret = g;
	return 0;
}

int diff_gate_check(const struct diff *d, const struct diff_gate *gate, enum diff_verdict *ret,
		    struct strbuf *text, struct err *err)
{
	struct diff_change c;
	int rc = !strcmp(gate->subject, "step")   ? diff_step_change(d, &c)
		 : !strcmp(gate->subject, "idle") ? change_of(d, fill_idle, NULL, &c)
						  : change_of(d, fill_gate, gate, &c);
	if (rc < 0)
		return err_set(err, rc, "cannot compare steps");
	bool is_beyond = gate->is_less ? c.percent < gate->percent : c.percent > gate->percent;
	const char *blank = *gate->pattern ? " " : "";

	strbuf_printf(text, "%s%s%s: ", gate->subject, blank, gate->pattern);
	*ret = DIFF_CANNOT_TELL;
	if (!c.is_known) {
		strbuf_printf(text,
			      "cannot tell: it takes %d steps on both sides, there are %zu "
			      "and %zu",
			      DIFF_STEPS_MIN, c.counts[0], c.counts[1]);
	} else if (c.base <= 0 && c.now <= 0) {
		strbuf_puts(text, "cannot tell: neither side has such work");
	} else if (!is_beyond) {
		*ret = DIFF_PASSES;
		strbuf_printf(text, "%+.1f %%, within the limit of %+g %%", c.percent,
			      gate->percent);
	} else if (!c.is_certain) {
		strbuf_printf(text, "cannot tell: %+.1f %% is within the spread of the steps",
			      c.percent);
	} else {
		*ret = DIFF_FAILS;
		strbuf_printf(text, "%+.1f %%, beyond the limit of %+g %%", c.percent,
			      gate->percent);
	}
	return strbuf_finish(text) < 0 ? err_set(err, -ENOMEM, "cannot compare steps") : 0;
}
