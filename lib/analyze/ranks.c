/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/ranks.h"

#include "analyze/collectives.h"
#include "base/parse.h"

#include <errno.h>

void analysis_ranks_release(struct ranks_summary *s)
{
	free(s->ranks);
	free(s->list);
	strtab_release(&s->texts);
	*s = (struct ranks_summary){ .rank_count = 0 };
}

/* One collective on all ranks that have it. */
struct set {
	uint64_t least_ns, time_ns;
	uint32_t members, last; /* rank */
	bool is_shared;         /* two ranks were last together: it is nobody's fault */
};

struct summing {
	struct ranks_summary *out;
	const struct collectives *c;
	struct set *sets;
	uint32_t *row_of; /* by name: row in the list, + 1 */
	uint64_t *costs;  /* by row and rank: what others waited for it */
	uint64_t *lasts;
};

static uint64_t length(const struct collective *c)
{
	return c->end_ns - c->start_ns;
}

static void fill_sets(struct summing *x)
{
	vec_for_each(&x->c->list, c) {
		struct set *s = &x->sets[c->set];
		if (!c->set)
			continue;
		s->time_ns += length(c);
		if (s->members++ && length(c) > s->least_ns)
			continue;
		s->is_shared = s->members > 1 && length(c) == s->least_ns;
		s->least_ns = length(c);
		s->last = c->rank;
	}
}

static void sum_one(struct summing *x, const struct collective *c)
{
	struct rank_summary *r = &x->out->ranks[c->rank];
	size_t row = x->row_of[c->name] - 1;
	struct collective_summary *l = &x->out->list[row];
	const struct set *s = &x->sets[c->set];

	r->collectives++;
	r->time_ns += length(c);
	l->count++;
	l->time_ns += length(c);
	if (!c->set)
		return;
	r->matched++;
	r->transfer_ns += s->least_ns;
	r->wait_ns += length(c) - s->least_ns;
	l->matched++;
	l->transfer_ns += s->least_ns;
	l->wait_ns += length(c) - s->least_ns;
	x->out->wait_ns += length(c) - s->least_ns;
	if (s->last != c->rank || s->is_shared)
		return;
	uint64_t cost = s->time_ns - s->members * s->least_ns;
	r->last++;
	r->cost_ns += cost;
	x->lasts[row * x->out->rank_count + c->rank]++;
	x->costs[row * x->out->rank_count + c->rank] += cost;
}

static void find_slowest(struct summing *x)
{
	size_t ranks = x->out->rank_count;
	for (size_t i = 0; i < x->out->count; i++) {
		struct collective_summary *l = &x->out->list[i];
		for (size_t r = 0; r < ranks; r++) {
			if (x->costs[i * ranks + r] <= l->slowest_ns)
				continue;
			l->slowest = r;
			l->slowest_ns = x->costs[i * ranks + r];
			l->last = x->lasts[i * ranks + r];
		}
	}
}

/* A row of the list for each name. */
static int list_names(struct summing *x)
{
	uint32_t names = strtab_count(&x->out->texts);
	x->row_of = calloc((size_t)names + 1, sizeof(*x->row_of));
	x->out->list = calloc((size_t)names + 1, sizeof(*x->out->list));
	if (!x->row_of || !x->out->list)
		return -ENOMEM;
	vec_for_each(&x->c->list, c) {
		if (x->row_of[c->name])
			continue;
		x->row_of[c->name] = (uint32_t)++x->out->count;
		x->out->list[x->out->count - 1].name = strtab_text(&x->out->texts, c->name);
	}
	return 0;
}

static int list_ranks(struct summing *x, const struct analysis *a)
{
	size_t n = x->c->processes.len;
	x->out->ranks = calloc(n + 1, sizeof(*x->out->ranks));
	if (!x->out->ranks)
		return -ENOMEM;
	x->out->rank_count = n;
	for (size_t i = 0; i < n; i++) {
		const struct process *p = &a->processes.data[x->c->processes.data[i]];
		x->out->ranks[i] = (struct rank_summary){
			.rank = p->rank,
			.pid = p->pid,
			.comm = analysis_text(a, p->comm),
		};
	}
	return 0;
}

/* How many ranks the job has: as its traces say, else as many as its largest group. */
static uint64_t find_world(const struct analysis *a, const struct collectives *c)
{
	const char *text = analysis_info(a, "trace.distributedInfo.world_size");
	uint64_t n;
	return text && !parse_u64(text, 10, &n) ? n : c->largest_group;
}

static int compare_ranks(const void *va, const void *vb)
{
	const struct rank_summary *a = va, *b = vb;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static int compare_names(const void *va, const void *vb)
{
	const struct collective_summary *a = va, *b = vb;
	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* By rank and by time; what the list says of ranks goes along. */
static int sort_all(struct ranks_summary *s)
{
	size_t n = s->rank_count;
	CLEANUP_FREE struct rank_summary *before = malloc((n + 1) * sizeof(*before));
	if (!before)
		return -ENOMEM;
	memcpy(before, s->ranks, n * sizeof(*before));
	qsort(s->ranks, n, sizeof(*s->ranks), compare_ranks);
	for (size_t i = 0; i < s->count; i++) {
		size_t at = 0;
		while (at < n && compare_ranks(&s->ranks[at], &before[s->list[i].slowest]))
			at++;
		s->list[i].slowest = at;
	}
	qsort(s->list, s->count, sizeof(*s->list), compare_names);
	return 0;
}

static int sum_all(struct summing *x, const struct analysis *a)
{
	int rc = list_ranks(x, a);
	rc = rc ? rc : list_names(x);
	if (rc < 0)
		return rc;
	size_t cells = x->out->count * x->out->rank_count + 1;
	x->sets = calloc((size_t)x->c->sets + 1, sizeof(*x->sets));
	x->costs = calloc(cells, sizeof(*x->costs));
	x->lasts = calloc(cells, sizeof(*x->lasts));
	if (!x->sets || !x->costs || !x->lasts)
		return -ENOMEM;
	fill_sets(x);
	vec_for_each(&x->c->list, c)
		sum_one(x, c);
	for (uint32_t i = 1; i <= x->c->sets; i++)
		x->out->sets += x->sets[i].members > 0;
	find_slowest(x);
	x->out->world = find_world(a, x->c);
	return sort_all(x->out);
}

int ranks_find(struct analysis *a, const struct filter *f, struct ranks_summary *ret)
{
	CLEANUP(collectives_release) struct collectives c = { .sets = 0 };
	struct ranks_summary out = { .rank_count = 0 };
	struct summing x = { .out = &out, .c = &c };

	int rc = collectives_find(&c, a, f, &out.texts);
	rc = rc ? rc : collectives_match(&c);
	rc = rc ? rc : sum_all(&x, a);
	free(x.sets);
	free(x.row_of);
	free(x.costs);
	free(x.lasts);
	if (rc < 0)
		analysis_ranks_release(&out);
	else
		*ret = out;
	return rc;
}

int analysis_ranks(struct analysis *a, const struct analysis_filter *filter,
		   struct ranks_summary *ret, struct err *err)
{
	struct filter f = { 0 };
	int rc = filter_init(&f, a, filter, err);
	if (rc < 0)
		return rc;
	rc = ranks_find(a, &f, ret);
	filter_release(&f);
	return rc < 0 ? err_set(err, rc, "cannot compare ranks") : 0;
}
