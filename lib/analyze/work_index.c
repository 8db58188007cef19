/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/work_index.h"

#include "analyze/sort.h"

#include <errno.h>

/* Ops are skipped by blocks of this many whose latest end is too early. */
#define BLOCK 64

struct group {
	size_t first_op, op_count;         /* in `ops` */
	size_t first_launch, launch_count; /* in `launches` */
	size_t hint;                       /* where the last search ended: samples come in order */
	size_t first_share, share_count;   /* in `shares` */
	uint64_t total;
	uint32_t process;
	bool has_shares;
};

struct work_index {
	struct analysis *a;
	struct hash by_key;  /* (process, name) -> group */
	struct hash by_name; /* name -> group, WORK_NONE when several processes have it */
	VEC(struct group) groups;
	uint32_t *ops;        /* by group, then start */
	uint64_t *latest;     /* by position in `ops`: latest end in the group so far */
	uint64_t *block_ends; /* latest end in each whole block of `ops` */
	uint32_t *launches;   /* by group */
	uint64_t *device_ns;  /* by launch */
	VEC(struct work_share) shares;
};

static int group_make(struct work_index *x, uint64_t key, uint32_t *ret)
{
	const uint64_t *known = hash_get(&x->by_key, key);
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	uint32_t name = (uint32_t)key;
	bool is_shared = hash_get(&x->by_name, name);
	*ret = (uint32_t)x->groups.len;
	if (hash_set(&x->by_key, key, *ret) < 0 ||
	    hash_set(&x->by_name, name, is_shared ? WORK_NONE : *ret) < 0)
		return -ENOMEM;
	return vec_push(&x->groups, (struct group){ .process = (uint32_t)(key >> 32) });
}

static uint64_t op_key(const struct analysis *a, size_t i)
{
	const struct op *op = &a->ops.data[i];
	return hash_pair(analysis_op_process(a, op), op->name);
}

static uint64_t launch_key(const struct analysis *a, size_t i)
{
	const struct launch *l = &a->launches.data[i];
	return hash_pair(analysis_site_process(a, l->site), l->name);
}

/* Numbers of rows by their key, and in each group where its own begin. */
static int rows_order(const struct analysis *a, size_t n,
		      uint64_t (*key)(const struct analysis *, size_t), uint32_t *order,
		      uint64_t *keys)
{
	for (size_t i = 0; i < n; i++) {
		keys[i] = key(a, i);
		order[i] = (uint32_t)i;
	}
	return sort_by_key(keys, order, n);
}

static int index_ops(struct work_index *x)
{
	size_t n = x->a->ops.len;
	CLEANUP_FREE uint64_t *keys = calloc(n + 1, sizeof(*keys));
	x->ops = malloc((n + 1) * sizeof(*x->ops));
	x->latest = malloc((n + 1) * sizeof(*x->latest));
	x->block_ends = calloc(n / BLOCK + 1, sizeof(*x->block_ends));
	if (!keys || !x->ops || !x->latest || !x->block_ends ||
	    rows_order(x->a, n, op_key, x->ops, keys) < 0)
		return -ENOMEM;

	struct group *g = NULL;
	for (size_t i = 0; i < n; i++) {
		uint64_t key = keys[x->ops[i]];
		uint64_t end = x->a->ops.data[x->ops[i]].end_ns;
		if (!i || key != keys[x->ops[i - 1]]) {
			uint32_t group;
			if (group_make(x, key, &group) < 0)
				return -ENOMEM;
			g = &x->groups.data[group];
			g->first_op = g->hint = i;
			x->latest[i] = end;
		} else {
			x->latest[i] = end > x->latest[i - 1] ? end : x->latest[i - 1];
		}
		g->op_count++;
		if (end > x->block_ends[i / BLOCK])
			x->block_ends[i / BLOCK] = end;
	}
	return 0;
}

static int index_launches(struct work_index *x)
{
	size_t n = x->a->launches.len;
	CLEANUP_FREE uint64_t *keys = calloc(n + 1, sizeof(*keys));
	x->launches = malloc((n + 1) * sizeof(*x->launches));
	x->device_ns = calloc(n + 1, sizeof(*x->device_ns));
	if (!keys || !x->launches || !x->device_ns ||
	    rows_order(x->a, n, launch_key, x->launches, keys) < 0)
		return -ENOMEM;

	struct group *g = NULL;
	for (size_t i = 0; i < n; i++) {
		uint64_t key = keys[x->launches[i]];
		if (!i || key != keys[x->launches[i - 1]]) {
			uint32_t group;
			if (group_make(x, key, &group) < 0)
				return -ENOMEM;
			g = &x->groups.data[group];
			g->first_launch = i;
		}
		g->launch_count++;
	}
	vec_for_each(&x->a->ops, op) {
		if (op->launch)
			x->device_ns[op->launch - 1] += op->end_ns - op->start_ns;
	}
	return 0;
}

int work_index_new(struct work_index **ret, struct analysis *a)
{
	CLEANUP(work_index_free) struct work_index *x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->a = a;
	if (index_ops(x) < 0 || index_launches(x) < 0)
		return -ENOMEM;
	*ret = TAKE(x);
	return 0;
}

void work_index_free(struct work_index *x)
{
	if (!x)
		return;
	hash_release(&x->by_key);
	hash_release(&x->by_name);
	vec_release(&x->groups);
	free(x->ops);
	free(x->latest);
	free(x->block_ends);
	free(x->launches);
	free(x->device_ns);
	vec_release(&x->shares);
	free(x);
}

uint32_t work_group(const struct work_index *x, uint32_t process, uint32_t name)
{
	const uint64_t *group = process ? hash_get(&x->by_key, hash_pair(process, name))
					: hash_get(&x->by_name, name);
	return group ? (uint32_t)*group : WORK_NONE;
}

uint32_t work_group_process(const struct work_index *x, uint32_t group)
{
	return x->groups.data[group].process;
}

static const struct op *op_at(const struct work_index *x, size_t i)
{
	return &x->a->ops.data[x->ops[i]];
}

/* The first position of a group whose op starts at @end_ns or later. */
static size_t search_start(const struct work_index *x, struct group *g, uint64_t end_ns)
{
	size_t low = g->first_op, high = g->first_op + g->op_count, hint = g->hint;

	/* Mostly it is the answer of last time, or a few further. */
	if (hint == low || op_at(x, hint - 1)->start_ns < end_ns) {
		for (size_t i = 0; i < 8; i++, hint++) {
			if (hint == high || op_at(x, hint)->start_ns >= end_ns)
				return g->hint = hint;
		}
		low = hint;
	} else {
		high = hint;
	}
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (op_at(x, mid)->start_ns < end_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return g->hint = low;
}

size_t work_running(struct work_index *x, uint32_t group, uint64_t begin_ns, uint64_t end_ns,
		    struct work_hit hits[WORK_HITS_MAX])
{
	struct group *g = &x->groups.data[group];
	size_t count = 0;

	if (!g->op_count)
		return 0;
	for (size_t i = search_start(x, g, end_ns); i > g->first_op;) {
		if (x->latest[i - 1] <= begin_ns)
			break;
		if (i % BLOCK == 0 && x->block_ends[i / BLOCK - 1] <= begin_ns &&
		    i - g->first_op >= BLOCK) {
			i -= BLOCK;
			continue;
		}
		const struct op *op = op_at(x, --i);
		if (op->end_ns <= begin_ns)
			continue;
		if (count == WORK_HITS_MAX)
			return 0;
		uint64_t from = op->start_ns > begin_ns ? op->start_ns : begin_ns;
		uint64_t to = op->end_ns < end_ns ? op->end_ns : end_ns;
		hits[count++] = (struct work_hit){ x->ops[i], to - from };
	}
	return count;
}

/* Add up what each site launched; the weights' sum is what a share is a share of. */
static int shares_collect(struct work_index *x, struct group *g, bool by_time)
{
	struct hash sites = { 0 };
	int rc = 0;

	for (size_t i = g->first_launch; i < g->first_launch + g->launch_count && !rc; i++) {
		const struct launch *l = &x->a->launches.data[x->launches[i]];
		uint64_t weight = by_time ? x->device_ns[x->launches[i]] : 1;
		const uint64_t *known = hash_get(&sites, l->site);
		if (known) {
			x->shares.data[*known].weight += weight;
			continue;
		}
		rc = hash_set(&sites, l->site, x->shares.len);
		if (!rc)
			rc = vec_push(&x->shares, (struct work_share){ l->site, weight });
	}
	hash_release(&sites);
	return rc;
}

static int compare_shares(const void *a, const void *b)
{
	const struct work_share *x = a, *y = b;
	return x->site < y->site ? -1 : x->site > y->site;
}

int work_shares(struct work_index *x, uint32_t group, struct work_shares *ret)
{
	struct group *g = &x->groups.data[group];
	if (!g->has_shares) {
		bool by_time = false;
		for (size_t i = 0; i < g->launch_count && !by_time; i++)
			by_time = x->device_ns[x->launches[g->first_launch + i]];
		g->first_share = x->shares.len;
		if (shares_collect(x, g, by_time) < 0)
			return -ENOMEM;
		g->share_count = x->shares.len - g->first_share;
		g->has_shares = true;
		if (g->share_count)
			qsort(&x->shares.data[g->first_share], g->share_count,
			      sizeof(*x->shares.data), compare_shares);
		for (size_t i = 0; i < g->share_count; i++)
			g->total += x->shares.data[g->first_share + i].weight;
	}
	*ret = (struct work_shares){ .count = g->share_count, .total = g->total };
	if (g->share_count)
		ret->list = &x->shares.data[g->first_share];
	return 0;
}
