/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/phases.h"

#include "analyze/phases_internal.h"
#include "analyze/steps.h"

#include <ctype.h>
#include <errno.h>

static const char *const names[PHASE_COUNT] = {
	[PHASE_START] = "start",     [PHASE_IMPORT] = "import",    [PHASE_LOAD] = "load",
	[PHASE_COMPILE] = "compile", [PHASE_CAPTURE] = "capture",  [PHASE_WARMUP] = "warm-up",
	[PHASE_STEADY] = "steady",   [PHASE_WORK] = "device work", [PHASE_END] = "end",
};

const char *phase_name(enum phase phase)
{
	return names[phase];
}

bool phase_of_mark(const char *name, enum phase *ret)
{
	if (!strncasecmp(name, "phase", 5) && (name[5] == ':' || name[5] == ' '))
		name += 6;
	name += strspn(name, " ");
	for (int i = PHASE_IMPORT; i <= PHASE_STEADY; i++) {
		const char *at = name, *want = names[i];
		/* "warm up", "warm_up" and "warmup" are "warm-up". */
		for (; *want; want++) {
			if (*want == '-') {
				at += *at == '-' || *at == '_' || *at == ' ';
				continue;
			}
			if (tolower((unsigned char)*at) != *want)
				break;
			at++;
		}
		if (!*want && !*at) {
			*ret = (enum phase)i;
			return true;
		}
	}
	return false;
}

static void finding_release(struct finding *x)
{
	vec_release(&x->about);
	vec_release(&x->marked);
	vec_release(&x->all);
}
DEFINE_CLEANUP_EMBEDDED(finding_release, struct finding)

/* ---- whose ---- */

/* The thread with most launches, of a capture without any that with most samples. */
static int find_thread(struct finding *x)
{
	const struct analysis *a = x->a;
	CLEANUP_FREE uint64_t *launches = calloc(a->threads.len, sizeof(*launches));
	CLEANUP_FREE uint64_t *samples = calloc(a->threads.len, sizeof(*samples));
	if (!launches || !samples)
		return -ENOMEM;
	vec_for_each(&a->launches, l)
		launches[l->thread]++;
	vec_for_each(&a->samples, s)
		samples[a->sample_groups.data[s->group].thread]++;
	uint64_t most = 0;
	for (uint32_t i = 1; i < a->threads.len; i++) {
		if (x->f->thread_passes[i] && launches[i] > most) {
			most = launches[i];
			x->thread = i;
		}
	}
	for (uint32_t i = 1; i < a->threads.len && !most; i++) {
		if (x->f->thread_passes[i] && samples[i] > (x->thread ? samples[x->thread] : 0))
			x->thread = i;
	}
	x->process = a->threads.data[x->thread].process;
	return 0;
}

bool phases_is_of(const struct finding *x, uint32_t process)
{
	return !process || !x->process || process == x->process;
}

static int find_bounds(struct finding *x)
{
	struct analysis *a = x->a;
	uint64_t first = UINT64_MAX, last = 0;
	const struct step *steps;
	size_t count;

	analysis_span(a, &x->begin_ns, &x->end_ns);
	x->begin_ns = x->f->begin_ns > x->begin_ns ? x->f->begin_ns : x->begin_ns;
	x->end_ns = x->f->end_ns < x->end_ns ? x->f->end_ns : x->end_ns;
	vec_for_each(&a->launches, l) {
		if (phases_is_of(x, a->threads.data[l->thread].process) &&
		    analysis_launch_is_seen(a, l) && l->time_ns < first)
			first = l->time_ns;
	}
	vec_for_each(&a->ops, op) {
		if (!phases_is_of(x, analysis_op_process(a, op)))
			continue;
		first = op->start_ns < first ? op->start_ns : first;
		last = op->end_ns > last ? op->end_ns : last;
	}
	x->has_launches = first < last;
	x->first_ns = first;
	x->last_ns = last;
	x->steps_ns = x->steady_ns = UINT64_MAX;
	if (steps_of(a, &steps, &count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct step *s = &steps[i];
		if (!phases_is_of(x, s->process))
			continue;
		if (!x->has_steps)
			x->steps_ns = x->steady_ns = s->begin_ns;
		if (s->is_warmup)
			x->steady_ns = s->end_ns;
		/* Of repetitions, the end of the last one is not known. */
		if (a->steps.len)
			x->last_ns =
				x->has_steps && x->last_ns > s->end_ns ? x->last_ns : s->end_ns;
		x->has_steps = true;
	}
	x->first_ns = x->steps_ns < x->first_ns ? x->steps_ns : x->first_ns;
	return 0;
}

/* ---- every moment once ---- */

/* What is said outright: later ones are inside earlier ones, and mean what they say. */
static enum phase phase_at(const struct finding *x, uint64_t time_ns, size_t *about)
{
	enum phase phase;
	for (size_t i = x->marked.len; i-- > 0;) {
		const struct stretch *s = &x->marked.data[i];
		if (time_ns >= s->begin_ns && time_ns < s->end_ns)
			return s->phase;
	}
	if (!x->has_launches && !x->has_steps)
		phase = PHASE_START;
	else if (time_ns < x->first_ns)
		phase = PHASE_START;
	else if (time_ns >= x->last_ns)
		phase = PHASE_END;
	else if (time_ns < x->steps_ns)
		phase = PHASE_WORK;
	else
		phase = time_ns < x->steady_ns ? PHASE_WARMUP : PHASE_STEADY;
	if (phase == PHASE_STEADY || phase == PHASE_END)
		return phase;
	while (*about < x->about.len && x->about.data[*about].end_ns <= time_ns)
		++*about;
	if (*about < x->about.len && x->about.data[*about].begin_ns <= time_ns)
		return x->about.data[*about].phase;
	return phase;
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* More marks of phases than a program has phases; each costs time for every change. */
#define MARKED_MAX 4096

static int find_all(struct finding *x)
{
	VEC(uint64_t) edges = { 0 };
	size_t about = 0;
	int rc = 0;

	const uint64_t bounds[] = { x->begin_ns, x->end_ns,    x->first_ns,
				    x->steps_ns, x->steady_ns, x->last_ns };
	for (size_t i = 0; i < ARRAY_SIZE(bounds) && !rc; i++)
		rc = vec_push(&edges, bounds[i]);
	x->marked.len = x->marked.len < MARKED_MAX ? x->marked.len : MARKED_MAX;
	for (size_t i = 0; i < x->marked.len + x->about.len && !rc; i++) {
		const struct stretch *s =
			i < x->marked.len ? &x->marked.data[i] : &x->about.data[i - x->marked.len];
		rc = vec_push(&edges, s->begin_ns);
		rc = rc ? rc : vec_push(&edges, s->end_ns);
	}
	if (!rc)
		qsort(edges.data, edges.len, sizeof(*edges.data), compare_times);
	for (size_t i = 0; i + 1 < edges.len && !rc; i++) {
		uint64_t begin = edges.data[i], end = edges.data[i + 1];
		if (begin == end || begin < x->begin_ns || end > x->end_ns)
			continue;
		enum phase phase = phase_at(x, begin, &about);
		struct stretch *last = x->all.len ? vec_last(&x->all) : NULL;
		if (last && last->phase == phase)
			last->end_ns = end;
		else
			rc = vec_push(&x->all, (struct stretch){ begin, end, phase });
	}
	vec_release(&edges);
	return rc;
}

static int find_marked(struct finding *x)
{
	vec_for_each(&x->a->phase_marks, m) {
		struct stretch one = { m->begin_ns, m->end_ns, m->phase };
		if (phases_is_of(x, m->process) && vec_push(&x->marked, one) < 0)
			return -ENOMEM;
	}
	return 0;
}

int analysis_phases(struct analysis *a, const struct analysis_filter *filter,
		    struct phases_summary *ret, struct err *err)
{
	CLEANUP(finding_release) struct finding x = { .a = a };
	struct phases_summary out = { .count = 0 };
	struct filter f = { 0 };

	int rc = filter_init(&f, a, filter, err);
	if (rc < 0)
		return rc;
	x.f = &f;
	rc = a->has_timeline ? find_thread(&x) : 0;
	if (a->has_timeline) {
		rc = rc ? rc : find_bounds(&x);
		rc = rc ? rc : phases_about(&x);
		rc = rc ? rc : phases_captures(&x);
		rc = rc ? rc : find_marked(&x);
		rc = rc ? rc : find_all(&x);
		rc = rc ? rc : phases_sum(&x, &out);
	}
	filter_release(&f);
	if (rc < 0)
		return err_set(err, rc, "cannot find phases");
	*ret = out;
	return 0;
}
