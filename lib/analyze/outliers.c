/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/outliers.h"

#include "analyze/spread.h"

#include <errno.h>

/* More kinds of work on more devices than this are not looked at: 48 bytes each. */
#define CELLS_MAX ((size_t)1 << 22)

/* All work of one name on one device. */
struct cell {
	uint64_t least_ns;
	uint32_t count, first, last; /* ops, + 1 */
	uint32_t candidate;          /* + 1 */
};

struct candidate {
	uint32_t op;
	VEC(uint64_t) durations;
};

struct search {
	struct analysis *a;
	struct cell *cells; /* by device, then name */
	VEC(struct candidate) candidates;
};

static uint64_t duration_of(const struct op *op)
{
	return op->end_ns - op->start_ns;
}

static struct cell *cell_of(const struct search *s, const struct op *op)
{
	return &s->cells[(size_t)op->device * strtab_count(&s->a->names) + op->name];
}

static void count_ops(struct search *s)
{
	for (size_t i = 0; i < s->a->ops.len; i++) {
		const struct op *op = &s->a->ops.data[i];
		struct cell *c = cell_of(s, op);
		if (!c->count || duration_of(op) < c->least_ns)
			c->least_ns = duration_of(op);
		if (!c->count++)
			c->first = (uint32_t)i + 1;
		c->last = (uint32_t)i + 1;
	}
}

static bool is_long(uint64_t ns, uint64_t usual_ns)
{
	return usual_ns && ns / OUTLIER_TIMES >= usual_ns;
}

/* Of each cell one at most: where both ends are long, nothing is known of what is usual. */
static int choose(struct search *s, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct cell *c = &s->cells[i];
		if (c->count <= OUTLIER_OTHERS)
			continue;
		const struct op *first = &s->a->ops.data[c->first - 1];
		const struct op *last = &s->a->ops.data[c->last - 1];
		bool is_first = duration_of(first) >= duration_of(last);
		if (!is_long(duration_of(is_first ? first : last), c->least_ns))
			continue;
		struct candidate found = { .op = (is_first ? c->first : c->last) - 1 };
		if (vec_push(&s->candidates, found) < 0)
			return -ENOMEM;
		c->candidate = (uint32_t)s->candidates.len;
	}
	return 0;
}

static int collect(struct search *s)
{
	vec_for_each(&s->a->ops, op) {
		uint32_t candidate = cell_of(s, op)->candidate;
		if (candidate &&
		    vec_push(&s->candidates.data[candidate - 1].durations, duration_of(op)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int judge(struct search *s)
{
	vec_for_each(&s->candidates, c) {
		struct spread usual;
		spread_of(c->durations.data, c->durations.len, &usual);
		struct outlier found = { .op = c->op, .median_ns = usual.median };
		if (is_long(duration_of(&s->a->ops.data[c->op]), usual.median) &&
		    vec_push(&s->a->outliers, found) < 0)
			return -ENOMEM;
	}
	return 0;
}

int analysis_find_outliers(struct analysis *a)
{
	struct search s = { .a = a };
	size_t count = a->devices.len * strtab_count(&a->names);
	int rc = 0;

	if (!a->has_timeline || count > CELLS_MAX)
		return 0;
	s.cells = calloc(count + 1, sizeof(*s.cells));
	if (!s.cells)
		return -ENOMEM;
	count_ops(&s);
	rc = choose(&s, count);
	if (!rc && s.candidates.len)
		rc = collect(&s);
	rc = rc ? rc : judge(&s);
	vec_for_each(&s.candidates, c)
		vec_release(&c->durations);
	vec_release(&s.candidates);
	free(s.cells);
	return rc;
}

const struct outlier *analysis_outlier(const struct analysis *a, uint32_t op)
{
	vec_for_each(&a->outliers, o) {
		if (o->op == op)
			return o;
	}
	return NULL;
}
