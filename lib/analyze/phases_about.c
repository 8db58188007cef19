/* SPDX-License-Identifier: Apache-2.0 */
/* What the thread that launches most is in, by the names of what it calls. */
#include "analyze/phases_internal.h"
#include "analyze/topic.h"

#include <errno.h>

/* Between samples farther apart than so many periods the thread was not seen. */
#define PERIODS_BLIND 3

struct moment {
	uint64_t begin_ns, end_ns; /* end: of a span; else 0 */
	uint8_t topics;
};

struct moments {
	VEC(struct moment) list;
};

static enum phase phase_of_topics(uint8_t topics)
{
	/* A model is compiled while it is loaded, loaded while it is imported, not the other way. */
	return topics & 1u << TOPIC_COMPILE  ? PHASE_COMPILE
	       : topics & 1u << TOPIC_LOAD   ? PHASE_LOAD
	       : topics & 1u << TOPIC_IMPORT ? PHASE_IMPORT
					     : PHASE_START;
}

static int compare_moments(const void *va, const void *vb)
{
	const struct moment *a = va, *b = vb;
	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static int moments_collect(struct finding *x, struct moments *m)
{
	struct analysis *a = x->a;
	CLEANUP_FREE uint8_t *topics = topics_of_stacks(a);
	if (!topics)
		return -ENOMEM;
	vec_for_each(&a->samples, s) {
		const struct sample_group *g = &a->sample_groups.data[s->group];
		bool is_span = s->flags & CPU_SAMPLE_SPAN;
		struct moment one = { .begin_ns = s->time_ns,
				      .end_ns = is_span ? s->time_ns + s->weight : 0,
				      .topics = topics[g->stack] };
		if (g->thread == x->thread && vec_push(&m->list, one) < 0)
			return -ENOMEM;
	}
	vec_for_each(&a->blocked, b) {
		uint32_t stack = a->sample_groups.data[b->group].stack;
		struct moment one = { b->time_ns, b->time_ns + b->duration_ns, topics[stack] };
		if (b->thread == x->thread && vec_push(&m->list, one) < 0)
			return -ENOMEM;
	}
	if (m->list.len)
		qsort(m->list.data, m->list.len, sizeof(*m->list.data), compare_moments);
	return 0;
}

static int about_add(struct finding *x, enum phase phase, uint64_t begin_ns, uint64_t end_ns)
{
	struct stretch *last = x->about.len ? vec_last(&x->about) : NULL;
	if (phase == PHASE_START || end_ns <= begin_ns)
		return 0;
	if (last && last->phase == phase && last->end_ns >= begin_ns) {
		last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
		return 0;
	}
	if (last && begin_ns < last->end_ns)
		begin_ns = last->end_ns;
	return end_ns > begin_ns ? vec_push(&x->about, (struct stretch){ begin_ns, end_ns, phase })
				 : 0;
}

int phases_about(struct finding *x)
{
	uint64_t hz = x->a->header.frequency;
	uint64_t blind = hz ? PERIODS_BLIND * UINT64_C(1000000000) / hz : UINT64_MAX;
	struct moments m = { 0 };
	int rc = moments_collect(x, &m);

	for (size_t i = 0; i < m.list.len && !rc; i++) {
		const struct moment *one = &m.list.data[i];
		const struct moment *next = i + 1 < m.list.len ? one + 1 : NULL;
		enum phase phase = phase_of_topics(one->topics);
		uint64_t end = one->end_ns;
		if (!end && next) {
			/* A sample stands for the time to the next one, if it tells of the same. */
			end = next->begin_ns;
			if (end - one->begin_ns > blind && phase_of_topics(next->topics) != phase)
				end = one->begin_ns + blind;
		}
		rc = about_add(x, phase, one->begin_ns, end);
	}
	vec_release(&m.list);
	return rc;
}

/* Graphs are captured between two calls; found by what host spans or samples are called. */
int phases_captures(struct finding *x)
{
	struct analysis *a = x->a;
	uint64_t begin = 0;
	CLEANUP_FREE uint8_t *edges = calloc(a->stacks.len + 1, 1);
	if (!edges)
		return -ENOMEM;
	for (size_t i = 0; i < a->stacks.len; i++) {
		if (!a->stacks.data[i].leaf)
			continue;
		struct pair leaf = pairtab_get(&a->stack_nodes, a->stacks.data[i].leaf);
		const struct object *o = &a->objects.data[analysis_frame(a, leaf.second).object];
		const char *name = analysis_text(a, o->name);
		edges[i] = strstr(name, "StreamBeginCapture") ? 1
			   : strstr(name, "StreamEndCapture") ? 2
							      : 0;
	}
	vec_for_each(&a->samples, s) {
		const struct sample_group *g = &a->sample_groups.data[s->group];
		if (g->thread != x->thread || !edges[g->stack])
			continue;
		if (edges[g->stack] == 1) {
			begin = s->time_ns;
		} else if (begin && s->time_ns > begin) {
			struct stretch one = { begin, s->time_ns, PHASE_CAPTURE };
			if (vec_push(&x->marked, one) < 0)
				return -ENOMEM;
			begin = 0;
		}
	}
	return 0;
}
