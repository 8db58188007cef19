/* SPDX-License-Identifier: Apache-2.0 */
/* What the host did while the device had nothing to do. */
#include "analyze/hint_facts.h"

#include <errno.h>

/* ---- the sums ---- */

struct cost {
	uint64_t key; /* where: a node; (frame, frame) for functions */
	uint64_t ns;
	uint32_t node; /* one of those it was added for */
};

struct costs {
	VEC(struct cost) list;
	struct hash by_key;
	uint64_t ns;
};

static int cost_add(struct costs *c, uint64_t key, uint32_t node, uint64_t ns)
{
	const uint64_t *known = hash_get(&c->by_key, key);
	c->ns += ns;
	if (known) {
		c->list.data[*known].ns += ns;
		return 0;
	}
	if (hash_set(&c->by_key, key, c->list.len) < 0)
		return -ENOMEM;
	return vec_push(&c->list, (struct cost){ key, ns, node });
}

static const struct cost *cost_most(const struct costs *c)
{
	const struct cost *most = NULL;
	vec_for_each(&c->list, x) {
		if (!most || x->ns > most->ns || (x->ns == most->ns && x->key < most->key))
			most = x;
	}
	return most;
}

static void costs_release(struct costs *c)
{
	vec_release(&c->list);
	hash_release(&c->by_key);
}

struct host_costs {
	struct costs functions;
	struct costs runtime; /* the same, of what calls a runtime */
	struct costs topics[TOPIC_HINT_COUNT];
};

static enum topic frame_topic(const struct facts *x, uint32_t node)
{
	return (enum topic)x->topics[profile_node(x->p, node).frame];
}

/*
 * What a moment of host code is put down to: the innermost function of the program's own on the
 * path, with what it called there; nothing when it called the framework, which is what a program
 * is for. Returns the node of what was called, or of the function itself; PROFILE_NONE.
 */
static uint32_t find_function(const struct facts *x, uint32_t node, uint32_t *ret_own)
{
	uint32_t called = PROFILE_NONE;
	for (; node != PROFILE_NONE; node = profile_node(x->p, node).parent) {
		struct frame f = facts_frame(x, node);
		if (facts_is_own(&f)) {
			*ret_own = node;
			return called == PROFILE_NONE ? node : called;
		}
		if (f.class == FRAME_CLASS_FRAMEWORK || f.kind == FRAME_PROCESS)
			return PROFILE_NONE;
		if (f.kind != FRAME_SCOPE && f.kind != FRAME_OS)
			called = node;
	}
	return PROFILE_NONE;
}

static int add_moment(struct facts *x, struct host_costs *c, uint32_t node, uint64_t ns)
{
	uint32_t own;
	for (uint32_t n = node; n != PROFILE_NONE; n = profile_node(x->p, n).parent) {
		struct frame f = facts_frame(x, n);
		enum topic topic = frame_topic(x, n);
		if (f.class == FRAME_CLASS_OWN || topic >= TOPIC_HINT_COUNT)
			continue;
		return cost_add(&c->topics[topic], n, n, ns);
	}
	uint32_t called = find_function(x, node, &own);
	if (called == PROFILE_NONE)
		return 0;
	struct frame f = facts_frame(x, called);
	bool is_runtime = called != own && f.class != FRAME_CLASS_STDLIB &&
			  f.class != FRAME_CLASS_INTERPRETER && f.kind != FRAME_PYTHON;
	return cost_add(is_runtime ? &c->runtime : &c->functions,
			hash_pair(profile_node(x->p, own).frame, profile_node(x->p, called).frame),
			called, ns);
}

/* "inspect.signature" of "py::signature (inspect.py:3334)". */
static const char *called_text(struct facts *x, const struct frame *f)
{
	strbuf_reset(&x->text);
	if (f->kind != FRAME_PYTHON) {
		/* Where a library tells of no names, an address tells nobody anything. */
		const char *address = strstr(f->name, "+0x");
		strbuf_add(&x->text, f->name,
			   address ? (size_t)(address - f->name) : strlen(f->name));
		return facts_keep(x);
	}
	const char *name = strncmp(f->name, "py::", 4) ? f->name : f->name + 4;
	const char *base = f->file ? strrchr(f->file, '/') : NULL;
	base = base ? base + 1 : f->file ? f->file : "";
	int size = (int)strcspn(base, ".");
	strbuf_printf(&x->text, "%.*s%s%.*s", size, base, size ? "." : "", (int)strcspn(name, " "),
		      name);
	return facts_keep(x);
}

/* Calls of a runtime are what launching costs, up to this for each piece of work. */
#define LAUNCHING_NS 1000000

static void take_function(struct facts *x, const struct host_costs *c)
{
	const struct cost *most = cost_most(&c->functions), *runtime = cost_most(&c->runtime);
	uint32_t own;
	if (runtime && runtime->ns / LAUNCHING_NS > x->out->ops &&
	    (!most || runtime->ns > most->ns))
		most = runtime;
	if (!most)
		return;
	struct frame f = facts_frame(x, most->node);
	struct hint_part *part = &x->out->function;
	part->ns = most->ns;
	part->count = 1;
	if (find_function(x, most->node, &own) == own) {
		part->text = facts_where(x, own);
		return;
	}
	part->text = called_text(x, &f);
	part->where = facts_where(x, most->node);
}

static void take_topic(struct facts *x, const struct costs *c, struct hint_part *part)
{
	const struct cost *most = cost_most(c);
	if (!most)
		return;
	struct frame f = facts_frame(x, most->node);
	part->ns = c->ns;
	part->where = facts_where(x, most->node);
	/* Of a library whose every function is about it, which one it is tells nothing. */
	if (topic_of(f.name, f.file, NULL) == TOPIC_COUNT && f.module) {
		const char *slash = strrchr(f.module, '/');
		strbuf_reset(&x->text);
		strbuf_puts(&x->text, slash ? slash + 1 : f.module);
		part->text = facts_keep(x);
		return;
	}
	part->text = called_text(x, &f);
}

/* ---- all of it ---- */

static int add_moments(struct facts *x, struct host_costs *c)
{
	int metric = profile_metric_find(x->p, "idle-host");
	for (uint32_t n = 0; metric >= 0 && n < profile_node_count(x->p); n++) {
		uint64_t ns = profile_self(x->p, n, metric);
		if (ns && add_moment(x, c, n, ns) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* By frame: there are far fewer of them than nodes. */
static uint8_t *topics_of(const struct profile *p)
{
	uint8_t *topics = malloc(profile_frame_count(p) + 1);
	for (uint32_t i = 0; topics && i < profile_frame_count(p); i++) {
		struct frame f = profile_frame_get(p, i);
		topics[i] = (uint8_t)topic_of(f.name, f.file, f.module);
	}
	return topics;
}

static void find_torch(struct facts *x)
{
	for (uint32_t i = 0; i < profile_frame_count(x->p) && !x->out->has_torch; i++) {
		struct frame f = profile_frame_get(x->p, i);
		x->out->has_torch = !strncmp(f.name, "aten::", 6) ||
				    (f.kind == FRAME_PYTHON && f.file && strstr(f.file, "torch/"));
	}
}

int facts_host(struct facts *x)
{
	struct host_costs c = { 0 };
	struct hint_facts *o = x->out;

	o->function = o->loader = o->compile = o->allocate = o->lock = o->sync =
		(struct hint_part){ .text = "", .where = "" };
	find_torch(x);
	CLEANUP_FREE uint8_t *topics = topics_of(x->p);
	if (!topics)
		return -ENOMEM;
	x->topics = topics;
	int rc = add_moments(x, &c);
	take_function(x, &c);
	take_topic(x, &c.topics[TOPIC_LOADER], &o->loader);
	take_topic(x, &c.topics[TOPIC_COMPILE], &o->compile);
	take_topic(x, &c.topics[TOPIC_ALLOCATE], &o->allocate);
	take_topic(x, &c.topics[TOPIC_LOCK], &o->lock);
	uint64_t moments[TOPIC_HINT_COUNT] = { 0 };
	if (!rc && (o->compile.ns || o->allocate.ns))
		rc = facts_moments(x, moments);
	o->compile.count = moments[TOPIC_COMPILE];
	o->allocate.count = moments[TOPIC_ALLOCATE];
	rc = rc ? rc : facts_syncs(x);
	x->topics = NULL;
	costs_release(&c.functions);
	costs_release(&c.runtime);
	for (int i = 0; i < TOPIC_HINT_COUNT; i++)
		costs_release(&c.topics[i]);
	return rc;
}
