/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of --fail-on: what they mean, and whether they hold. */
#include "base/err.h"
#include "base/strbuf.h"
#include "cmd/diff.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static bool gate_meant(const struct diff *d, int side, size_t item, const void *data)
{
	const struct work *w = &d->sides[side].work;
	return is_meant(data, w->p, w->items[item].node);
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
	/* Only such: strtod() alone takes 0x5 and nan, too. */
	char *end;
	size_t size = strspn(p, "0123456789.");
	double number = strtod(p, &end);
	if (!size || end != p + size)
		return -EINVAL;
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
	if (memchr(p, '%', len)) /* in no name, but before "and" */
		return err_set(
			err, -EINVAL,
			"cannot understand '%s': one condition each, with an option of its own",
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
		 : !strcmp(gate->subject, "idle") ? diff_idle_change(d, &c)
						  : diff_items_change(d, gate_meant, gate, &c);
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
		diff_add_percent(text, &c);
		strbuf_printf(text, ", within the limit of %+g %%", gate->percent);
	} else if (!c.is_certain) {
		strbuf_puts(text, "cannot tell: ");
		diff_add_percent(text, &c);
		strbuf_printf(text, " is within the spread of the %s",
			      c.has_runs ? "runs" : "steps");
	} else {
		*ret = DIFF_FAILS;
		diff_add_percent(text, &c);
		strbuf_printf(text, ", beyond the limit of %+g %%", gate->percent);
	}
	return strbuf_finish(text) < 0 ? err_set(err, -ENOMEM, "cannot compare steps") : 0;
}
