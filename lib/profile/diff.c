/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/diff.h"

#include "profile/filter.h"
#include "profile/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "py::f (a.py:12)" -> "py::f (a.py)"; NULL when there is no line to leave out. */
static char *without_line(const char *name)
{
	const char *end = strrchr(name, ')');
	const char *colon = strrchr(name, ':');
	if (!end || end[1] || !colon || !colon[1] ||
	    strspn(colon + 1, "0123456789") != (size_t)(end - colon - 1) || end == colon + 1)
		return NULL;
	char *copy = strndup(name, (size_t)(colon - name) + 1);
	if (copy)
		copy[colon - name] = ')';
	return copy;
}

/* "python3 (4242)" -> "python3 (*)", "rank 1" -> "rank *". */
static char *without_numbers(const char *name)
{
	struct strbuf text = { 0 };
	struct frame f = { .kind = FRAME_SCOPE, .name = name };
	if (profile_layer_name(&f, &text))
		return text.data;
	strbuf_release(&text);
	return NULL;
}

static int frame_add(struct profile *dst, const struct profile *src, uint32_t number, uint32_t *ret)
{
	struct frame f = profile_frame_get(src, number);
	CLEANUP_FREE char *name = NULL;

	if (f.kind == FRAME_PYTHON) {
		name = without_line(f.name);
		f.line = 0;
	} else if (f.kind == FRAME_PROCESS) {
		name = without_numbers(f.name);
	}
	f.name = name ? name : f.name;
	return profile_frame(dst, &f, ret);
}

struct scale {
	uint64_t from, to; /* sums */
	uint64_t seen;     /* of from */
};

/* The part of the new sum that stands for @value; all parts add up to it. */
static uint64_t scale_next(struct scale *s, uint64_t value)
{
	uint64_t begin = s->seen;
	s->seen = value > s->from - begin ? s->from : begin + value;
	return (uint64_t)((unsigned __int128)s->seen * s->to / s->from -
			  (unsigned __int128)begin * s->to / s->from);
}

/* Put @metric of @src into @dst as its metric @as, scaled to a sum of @sum. */
static int side_add(struct profile *dst, int as, const struct profile *src, int metric,
		    uint64_t sum)
{
	struct scale scale = { .from = profile_total(src, PROFILE_ROOT, metric), .to = sum };
	CLEANUP_FREE uint32_t *frames = malloc(profile_frame_count(src) * sizeof(*frames));
	CLEANUP_FREE uint32_t *places = malloc(src->nodes.len * sizeof(*places));
	if (!frames || !places)
		return -ENOMEM;

	for (uint32_t i = 0; i < profile_frame_count(src); i++) {
		if (frame_add(dst, src, i, &frames[i]) < 0)
			return -ENOMEM;
	}
	places[PROFILE_ROOT] = PROFILE_ROOT;
	for (uint32_t i = 0; i < src->nodes.len; i++) {
		const struct profile_node *n = &src->nodes.data[i];
		if (i && profile_total(src, i, metric) &&
		    profile_child(dst, places[n->parent], frames[n->frame], &places[i]) < 0)
			return -ENOMEM;
		uint64_t value = profile_self(src, i, metric);
		if (value)
			profile_add(dst, places[i], as, scale_next(&scale, value));
	}
	return 0;
}

int profile_diff(const struct profile *base, int base_metric, const struct profile *now,
		 int now_metric, struct profile **ret)
{
	CLEANUP(profile_free) struct profile *p = NULL;
	const char *unit = profile_metric_get(now, now_metric).unit;
	uint64_t sum = profile_total(now, PROFILE_ROOT, now_metric);
	if (!sum || !profile_total(base, PROFILE_ROOT, base_metric))
		return -ENODATA;

	if (profile_new(&p) < 0 || profile_metric(p, "both", unit) != DIFF_BOTH ||
	    profile_metric(p, "now", unit) != DIFF_NOW ||
	    profile_metric(p, "base", unit) != DIFF_BASE ||
	    side_add(p, DIFF_NOW, now, now_metric, sum) < 0 ||
	    side_add(p, DIFF_BASE, base, base_metric, sum) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nodes.len; i++) {
		uint64_t a = profile_self(p, i, DIFF_NOW), b = profile_self(p, i, DIFF_BASE);
		profile_add(p, i, DIFF_BOTH, a > b ? a : b);
	}
	if (profile_finish(p) < 0)
		return -ENOMEM;
	*ret = TAKE(p);
	return 0;
}
