/* SPDX-License-Identifier: Apache-2.0 */
/* What a program without accelerator does with its CPUs. */
#include "analyze/hint_facts.h"

#include <errno.h>

/* Fewer samples tell of luck. */
#define SAMPLES_MIN 50

struct owner {
	uint32_t node; /* one of those whose time it is */
	const char *where;
	uint64_t ns;
};

/* Products of matrices, which are most of what such programs do in double precision. */
static bool is_double(const struct facts *x, uint32_t node)
{
	struct frame frame = facts_frame(x, node), *f = &frame;
	bool is_native = f->kind == FRAME_CXX || f->kind == FRAME_NATIVE;
	return is_native && (strstr(f->name, "dgemm") || strstr(f->name, "dgemv") ||
			     strstr(f->name, "gemm<double"));
}

/* OpenMP's libraries spin before they sleep. */
static bool is_spinning(const struct frame *f)
{
	static const char *const names[] = { "libgomp", "libiomp5", "libomp" };
	const char *slash = f->module ? strrchr(f->module, '/') : NULL;
	for (size_t i = 0; slash && i < ARRAY_SIZE(names); i++) {
		size_t size = strlen(names[i]);
		if (!strncmp(slash + 1, names[i], size) && strcspn(slash + 1, ".-") == size)
			return true;
	}
	return false;
}

/* CPython waits for nothing else with a timeout: its locks are semaphores. That function of it has a
 * name only where its binary was not stripped. */
static bool is_gil(const struct facts *x, uint32_t node)
{
	struct frame f = facts_frame(x, node);
	uint32_t parent = profile_node(x->p, node).parent;
	if (parent == PROFILE_NONE || strncmp(f.name, "pthread_cond_timedwait", 22) != 0)
		return false;
	return facts_frame(x, parent).class == FRAME_CLASS_INTERPRETER;
}

typedef bool (*pick_fn)(const struct facts *x, uint32_t node);

static bool has_above(const struct facts *x, uint32_t node, pick_fn pick)
{
	while ((node = profile_node(x->p, node).parent) != PROFILE_NONE) {
		if (pick(x, node))
			return true;
	}
	return false;
}

/* All that is spent in what @pick knows, and the code of whom most of it is. */
static int take(struct facts *x, int metric, pick_fn pick, struct hint_part *part)
{
	VEC(struct owner) owners = { 0 };
	struct owner *most = NULL;
	int rc = 0;

	for (uint32_t n = 0; n < profile_node_count(x->p) && !rc; n++) {
		if (!pick(x, n) || has_above(x, n, pick))
			continue;
		struct owner new = { n, facts_where(x, n), profile_total(x->p, n, metric) };
		if (!*new.where)
			continue; /* helpers' own threads: nobody can change that */
		size_t i = 0;
		while (i < owners.len &&
		       owners.data[i].where != new.where) /* texts are kept once */
			i++;
		if (i == owners.len)
			rc = vec_push(&owners, new);
		else
			owners.data[i].ns += new.ns;
		part->ns += new.ns;
	}
	vec_for_each(&owners, it)
		most = !most || it->ns > most->ns ? it : most;
	if (most) {
		part->text = facts_frame(x, most->node).name;
		part->where = most->where;
	}
	vec_release(&owners);
	return rc;
}

int facts_cpu(struct facts *x, const struct analysis_summary *s)
{
	struct hint_facts *o = x->out;
	int metric = profile_metric_find(x->p, "cpu-time");

	if (metric < 0 || s->cpu_samples < SAMPLES_MIN)
		return 0;
	o->cpu_ns = o->window_ns = profile_total(x->p, PROFILE_ROOT, metric);
	o->elapsed_ns = s->end_ns - s->begin_ns;
	int waits = profile_metric_find(x->p, "blocked");
	o->has_waits = waits >= 0;
	for (uint32_t n = 0; n < profile_node_count(x->p); n++) {
		struct frame f = facts_frame(x, n);
		o->spin_ns += is_spinning(&f) ? profile_self(x->p, n, metric) : 0;
	}
	int rc = take(x, metric, is_double, &o->fp64);
	return rc || waits < 0 ? rc : take(x, waits, is_gil, &o->gil);
}
