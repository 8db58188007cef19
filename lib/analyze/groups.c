/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/groups.h"

#include "analyze/filter.h"
#include "analyze/summary.h"
#include "base/frame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

struct row {
	struct analysis_group group;
	uint64_t ns, samples;
};

struct analysis_groups {
	VEC(struct row) rows;
	struct strtab texts;
	struct strbuf text;
};

struct grouping {
	struct analysis *a;
	const struct filter *f;
	const struct analysis_filter *filter;
	struct analysis_groups *g;
	struct hash row_of; /* what is grouped by -> number in rows */
	uint32_t *scopes;   /* by stack: name of the outermost scope; NULL: not asked for */
};

struct key {
	const char *name;
	/* What a piece of work, or host time, is grouped by; 0: it is in no group. */
	uint32_t (*of_op)(const struct grouping *x, const struct op *op, const struct site *site);
	uint32_t (*of_host)(const struct grouping *x, const struct sample_group *g);
	/* Label and filter of group @id. */
	int (*describe)(struct grouping *x, uint32_t id, struct analysis_group *ret);
};

/* ---- texts ---- */

__attribute__((format(printf, 2, 3))) static int keep(struct analysis_groups *g, const char *fmt,
						      ...)
{
	char text[512];
	uint32_t number;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return strtab_add(&g->texts, text, &number) < 0 ? -ENOMEM : (int)number;
}

static int set_text(struct grouping *x, int number, const char **ret)
{
	if (number < 0)
		return number;
	*ret = strtab_text(&x->g->texts, (uint32_t)number);
	return 0;
}

/* ---- what is grouped by ---- */

static uint32_t op_device(const struct grouping *x, const struct op *op, const struct site *site)
{
	(void)x;
	(void)site;
	return op->device;
}

static uint32_t op_queue(const struct grouping *x, const struct op *op, const struct site *site)
{
	(void)x;
	(void)site;
	return op->queue;
}

static uint32_t op_thread(const struct grouping *x, const struct op *op, const struct site *site)
{
	(void)x;
	(void)op;
	return site->thread;
}

static uint32_t op_of_process(const struct grouping *x, const struct op *op,
			      const struct site *site)
{
	(void)op;
	return site->thread ? x->a->threads.data[site->thread].process : site->process;
}

static uint32_t op_rank(const struct grouping *x, const struct op *op, const struct site *site)
{
	return x->a->processes.data[op_of_process(x, op, site)].rank;
}

static uint32_t op_scope(const struct grouping *x, const struct op *op, const struct site *site)
{
	(void)op;
	return site->kind == SITE_STACK ? x->scopes[site->stack] : 0;
}

static uint32_t host_thread(const struct grouping *x, const struct sample_group *g)
{
	(void)x;
	return g->thread;
}

static uint32_t host_process(const struct grouping *x, const struct sample_group *g)
{
	return x->a->threads.data[g->thread].process;
}

static uint32_t host_rank(const struct grouping *x, const struct sample_group *g)
{
	return x->a->processes.data[host_process(x, g)].rank;
}

static uint32_t host_scope(const struct grouping *x, const struct sample_group *g)
{
	return x->scopes[g->stack];
}

static int describe_device(struct grouping *x, uint32_t id, struct analysis_group *ret)
{
	const struct device *d = &x->a->devices.data[id];
	int rc = set_text(x, keep(x->g, "%" PRIu32, d->index), &ret->filter.device);
	return rc < 0 ? rc : set_text(x, keep(x->g, "device %" PRIu32, d->index), &ret->label);
}

static int describe_queue(struct grouping *x, uint32_t id, struct analysis_group *ret)
{
	const struct queue *q = &x->a->queues.data[id];
	const struct device *d = &x->a->devices.data[q->device];
	bool is_only = x->a->devices.len <= 2;
	int rc = set_text(x, keep(x->g, "%" PRIu64, q->handle), &ret->filter.stream);
	if (!rc && q->device)
		rc = set_text(x, keep(x->g, "%" PRIu32, d->index), &ret->filter.device);
	/* Streams have small numbers, queues are pointers. */
	bool is_small = q->handle < 1000000;
	if (!rc && is_only)
		rc = set_text(
			x, keep(x->g, is_small ? "stream %" PRIu64 : "queue %#" PRIx64, q->handle),
			&ret->label);
	else if (!rc)
		rc = set_text(x,
			      keep(x->g,
				   is_small ? "device %" PRIu32 " stream %" PRIu64
					    : "device %" PRIu32 " queue %#" PRIx64,
				   d->index, q->handle),
			      &ret->label);
	return rc;
}

static int describe_thread(struct grouping *x, uint32_t id, struct analysis_group *ret)
{
	const struct thread *t = &x->a->threads.data[id];
	const char *name = analysis_text(x->a, t->comm);
	int rc = set_text(x, keep(x->g, "%" PRIu32, t->tid), &ret->filter.tid);
	return rc < 0 ? rc
		      : set_text(x,
				 keep(x->g, "%.64s%s%" PRIu32, name, *name ? " " : "thread ",
				      t->tid),
				 &ret->label);
}

static int describe_process(struct grouping *x, uint32_t id, struct analysis_group *ret)
{
	const struct process *p = &x->a->processes.data[id];
	const char *name = analysis_text(x->a, p->comm);
	int rc = set_text(x, keep(x->g, "%" PRIu32, p->pid), &ret->filter.pid);
	return rc < 0 ? rc
		      : set_text(x,
				 keep(x->g, "%.64s%s%" PRIu32, name, *name ? " " : "process ",
				      p->pid),
				 &ret->label);
}

/* @id: rank + 1 */
static int describe_rank(struct grouping *x, uint32_t id, struct analysis_group *ret)
{
	int rc = set_text(x, keep(x->g, "%" PRIu32, id - 1), &ret->filter.rank);
	return rc < 0 ? rc : set_text(x, keep(x->g, "rank %" PRIu32, id - 1), &ret->label);
}

/* The name as a pattern that matches nothing else. */
static int describe_scope(struct grouping *x, uint32_t id, struct analysis_group *ret)
{
	const char *name = analysis_text(x->a, id);
	struct strbuf *b = &x->g->text;
	strbuf_reset(b);
	for (const char *c = name; *c; c++) {
		/* A list of patterns is split at its commas. */
		if (*c == ',')
			strbuf_putc(b, '?');
		else if (strchr("*?[\\", *c))
			strbuf_printf(b, "\\%c", *c);
		else
			strbuf_putc(b, *c);
	}
	int rc = strbuf_finish(b);
	rc = rc ? rc : set_text(x, keep(x->g, "%s", strbuf_text(b)), &ret->filter.scope);
	return rc < 0 ? rc : set_text(x, keep(x->g, "%s", name), &ret->label);
}

static const struct key keys[] = {
	{ "device", op_device, NULL, describe_device },
	{ "stream", op_queue, NULL, describe_queue },
	{ "process", op_of_process, host_process, describe_process },
	{ "thread", op_thread, host_thread, describe_thread },
	{ "rank", op_rank, host_rank, describe_rank },
	{ "scope", op_scope, host_scope, describe_scope },
};

bool analysis_groups_known(const char *name)
{
	bool is_known = !strcmp(name, "step");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		is_known |= !strcmp(name, keys[i].name);
	return is_known;
}

/* ---- collecting ---- */

static int row_of(struct grouping *x, const struct key *key, uint32_t id, struct row **ret)
{
	const uint64_t *known = hash_get(&x->row_of, id);
	if (known) {
		*ret = &x->g->rows.data[*known];
		return 0;
	}
	struct row row = { .group.filter = *x->filter };
	if (key->describe(x, id, &row.group) < 0 || hash_set(&x->row_of, id, x->g->rows.len) < 0 ||
	    vec_push(&x->g->rows, row) < 0)
		return -ENOMEM;
	*ret = vec_last(&x->g->rows);
	return 0;
}

static int add_ops(struct grouping *x, const struct key *key)
{
	struct analysis *a = x->a;
	vec_for_each(&a->ops, op) {
		uint32_t site;
		struct row *row;
		if (!filter_on(x->f, op->device, op->queue) || !x->f->name_passes[op->name] ||
		    !filter_time(x->f, op->start_ns))
			continue;
		if (analysis_op_site(a, op, &site) < 0)
			return -ENOMEM;
		if (!filter_site(x->f, &a->sites.data[site]))
			continue;
		uint32_t id = key->of_op(x, op, &a->sites.data[site]);
		if (!id)
			continue;
		if (row_of(x, key, id, &row) < 0)
			return -ENOMEM;
		row->ns += op->end_ns - op->start_ns;
	}
	return 0;
}

static int add_host(struct grouping *x, const struct key *key)
{
	struct analysis *a = x->a;
	if (!key->of_host)
		return 0;
	vec_for_each(&a->samples, s) {
		const struct sample_group *g = &a->sample_groups.data[s->group];
		struct row *row;
		if (!filter_group(x->f, g) || !filter_time(x->f, s->time_ns))
			continue;
		uint32_t id = key->of_host(x, g);
		if (!id)
			continue;
		if (row_of(x, key, id, &row) < 0)
			return -ENOMEM;
		row->samples++;
	}
	return 0;
}

/* By stack, the name of its outermost scope. */
static int find_scopes(struct grouping *x)
{
	const struct analysis *a = x->a;
	uint32_t count = pairtab_count(&a->stack_nodes);
	CLEANUP_FREE uint32_t *nodes = calloc(count, sizeof(*nodes));
	x->scopes = calloc(a->stacks.len + 1, sizeof(*x->scopes));
	if (!nodes || !x->scopes)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		struct pair step = pairtab_get(&a->stack_nodes, i);
		const struct object *o = &a->objects.data[analysis_frame(a, step.second).object];
		bool is_scope = o->kind == OBJECT_SCOPE ||
				(o->kind == OBJECT_FRAME && o->frame_kind == FRAME_SCOPE);
		nodes[i] = nodes[step.first] ? nodes[step.first] : is_scope ? o->name : 0;
	}
	for (size_t i = 0; i < a->stacks.len; i++)
		x->scopes[i] = nodes[a->stacks.data[i].leaf];
	return 0;
}

static int compare(const void *va, const void *vb)
{
	const struct row *a = va, *b = vb;
	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return strcmp(a->group.label, b->group.label);
}

static int group_by(struct grouping *x, const struct key *key, struct err *err)
{
	struct filter f = { 0 };
	int rc = filter_init(&f, x->a, x->filter, err);
	if (rc < 0)
		return rc;
	x->f = &f;
	rc = key->of_op == op_scope ? find_scopes(x) : 0;
	rc = rc ? rc : add_ops(x, key);
	rc = rc ? rc : add_host(x, key);
	if (x->g->rows.len)
		qsort(x->g->rows.data, x->g->rows.len, sizeof(*x->g->rows.data), compare);
	filter_release(&f);
	return rc < 0 ? err_set(err, rc, "cannot group by %s", key->name) : 0;
}

static int group_steps(struct grouping *x, struct err *err)
{
	CLEANUP_FREE struct step_summary *list = NULL;
	size_t count = 0;
	int rc = analysis_step_list(x->a, x->filter, &list, &count, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count && !rc; i++) {
		struct row row = { .group.filter = *x->filter };
		/* Each rank has one of that number. */
		bool is_known = false;
		for (size_t k = 0; k < i; k++)
			is_known |= list[k].number == list[i].number;
		if (is_known)
			continue;
		rc = set_text(x, keep(x->g, "%" PRIu64, list[i].number), &row.group.filter.step);
		rc = rc ? rc
			: set_text(x, keep(x->g, "step %" PRIu64, list[i].number),
				   &row.group.label);
		rc = rc ? rc : vec_push(&x->g->rows, row);
	}
	return rc < 0 ? err_set(err, rc, "cannot group by step") : 0;
}

int analysis_groups_new(struct analysis_groups **ret, struct analysis *a,
			const struct analysis_filter *filter, const char *name, struct err *err)
{
	CLEANUP(analysis_groups_free) struct analysis_groups *g = calloc(1, sizeof(*g));
	struct grouping x = { .a = a, .filter = filter, .g = g };
	int rc = -EINVAL;

	if (!g)
		return err_set(err, -ENOMEM, "cannot group");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!strcmp(name, keys[i].name))
			rc = group_by(&x, &keys[i], err);
	}
	if (!strcmp(name, "step"))
		rc = group_steps(&x, err);
	hash_release(&x.row_of);
	free(x.scopes);
	if (rc < 0)
		return rc;
	*ret = TAKE(g);
	return 0;
}

void analysis_groups_free(struct analysis_groups *g)
{
	if (!g)
		return;
	vec_release(&g->rows);
	strtab_release(&g->texts);
	strbuf_release(&g->text);
	free(g);
}

const struct analysis_group *analysis_groups_get(const struct analysis_groups *g, size_t i)
{
	return i < g->rows.len ? &g->rows.data[i].group : NULL;
}
