/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/scopes.h"

#include "analyze/sort.h"
#include "base/bisect.h"

#include <errno.h>

/* Scopes inside each other that are kept; deeper ones belong to the last of these. */
#define SCOPES_MAX 64

/* From a moment on, on one thread. */
struct change {
	uint64_t time_ns;
	uint32_t thread;
	uint32_t node;  /* of the tree of stacks: the scopes, outermost first; 0: none */
	uint32_t state; /* frame; 0: none */
};

struct scopes {
	struct analysis *a;
	VEC(struct change) changes; /* by thread, then time */
	struct hash frames;         /* text -> frame */
};

static bool has_scopes(const struct analysis *a)
{
	/* Totals without a timeline have no moments. */
	if (!a->has_timeline)
		return false;
	vec_for_each(&a->marks, m) {
		if (m->thread && (m->kind == MARK_PUSH || m->kind == MARK_STATE))
			return true;
	}
	return false;
}

int analysis_marks_order(const struct analysis *a, uint32_t *order)
{
	size_t n = a->marks.len;
	CLEANUP_FREE uint64_t *keys = calloc(n + 1, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		keys[i] = a->marks.data[i].time_ns;
		order[i] = (uint32_t)i;
	}
	if (sort_by_key(keys, order, n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		keys[i] = a->marks.data[i].thread;
	return sort_by_key(keys, order, n);
}

static int scope_frame(struct scopes *s, uint32_t text, uint32_t *ret)
{
	const uint64_t *known = hash_get(&s->frames, text);
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	struct frame_ref ref = { .object = (uint32_t)s->a->objects.len };
	if (vec_push(&s->a->objects, (struct object){ .kind = OBJECT_SCOPE, .name = text }) < 0 ||
	    analysis_frame_intern(s->a, ref, ret) < 0)
		return -ENOMEM;
	return hash_set(&s->frames, text, *ret);
}

static int add_change(struct scopes *s, const struct mark *m, uint32_t node, uint32_t state)
{
	struct change c = { m->time_ns, m->thread, node, state };
	return vec_push(&s->changes, c);
}

static int find_changes(struct scopes *s, const uint32_t *order)
{
	uint32_t open[SCOPES_MAX + 1] = { 0 }, depth = 0, state = 0, frame;
	uint32_t thread = 0;

	for (size_t i = 0; i < s->a->marks.len; i++) {
		const struct mark *m = &s->a->marks.data[order[i]];
		if (m->thread != thread)
			depth = state = 0;
		thread = m->thread;
		if (!thread ||
		    (m->kind != MARK_PUSH && m->kind != MARK_POP && m->kind != MARK_STATE))
			continue;
		if (m->kind == MARK_POP && depth) {
			depth--;
		} else if (m->kind == MARK_PUSH) {
			uint32_t above = depth < SCOPES_MAX ? depth : SCOPES_MAX;
			if (scope_frame(s, m->text, &frame) < 0)
				return -ENOMEM;
			if (depth++ < SCOPES_MAX && pairtab_intern(&s->a->stack_nodes, open[above],
								   frame, &open[above + 1]) < 0)
				return -ENOMEM;
		} else if (m->kind == MARK_STATE) {
			state = 0;
			if (*analysis_text(s->a, m->text) && scope_frame(s, m->text, &state) < 0)
				return -ENOMEM;
		}
		if (add_change(s, m, open[depth < SCOPES_MAX ? depth : SCOPES_MAX], state) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* What holds on @thread at a moment; NULL: nothing. */
static const struct change *change_at(const struct scopes *s, uint32_t thread, uint64_t time_ns)
{
	size_t below = bisect(s->changes.len, i,
			      s->changes.data[i].thread < thread ||
				      (s->changes.data[i].thread == thread &&
				       s->changes.data[i].time_ns <= time_ns));
	const struct change *last = below ? &s->changes.data[below - 1] : NULL;
	return last && last->thread == thread && (last->node || last->state) ? last : NULL;
}

static int change_site(struct scopes *s, uint32_t thread, uint64_t time_ns, bool is_launch,
		       uint32_t *site)
{
	const struct change *c = thread ? change_at(s, thread, time_ns) : NULL;
	struct site changed = s->a->sites.data[*site];
	if (!c || changed.kind != SITE_STACK)
		return 0;
	if (c->node && analysis_stack_within(s->a, changed.stack, c->node, &changed.stack) < 0)
		return -ENOMEM;
	changed.state = is_launch ? c->state : 0;
	return analysis_site(s->a, &changed, site);
}

static int change_group(struct scopes *s, uint64_t time_ns, uint32_t *group)
{
	struct sample_group g = s->a->sample_groups.data[*group];
	const struct change *c = g.thread ? change_at(s, g.thread, time_ns) : NULL;
	if (!c || !c->node)
		return 0;
	if (analysis_stack_within(s->a, g.stack, c->node, &g.stack) < 0)
		return -ENOMEM;
	return analysis_sample_group(s->a, g.thread, g.stack, group);
}

static int change_all(struct scopes *s)
{
	struct analysis *a = s->a;
	int rc = 0;
	vec_for_each(&a->launches, l)
		rc = rc ? rc : change_site(s, l->thread, l->time_ns, true, &l->site);
	vec_for_each(&a->syncs, y)
		rc = rc ? rc : change_site(s, y->thread, y->time_ns, false, &y->site);
	vec_for_each(&a->samples, x)
		rc = rc ? rc : change_group(s, x->time_ns, &x->group);
	vec_for_each(&a->blocked, b)
		rc = rc ? rc : change_group(s, b->time_ns, &b->group);
	return rc;
}

int analysis_find_scopes(struct analysis *a)
{
	struct scopes s = { .a = a };
	if (!has_scopes(a))
		return 0;
	CLEANUP_FREE uint32_t *order = malloc((a->marks.len + 1) * sizeof(*order));
	int rc = order ? analysis_marks_order(a, order) : -ENOMEM;
	rc = rc ? rc : find_changes(&s, order);
	rc = rc ? rc : change_all(&s);
	vec_release(&s.changes);
	hash_release(&s.frames);
	return rc;
}
