/* SPDX-License-Identifier: Apache-2.0 */
/* What each step cost. Steps may overlap: each rank has its own. */
#include "analyze/filter.h"
#include "analyze/steps.h"
#include "analyze/summary.h"

#include "base/bisect.h"

#include <errno.h>

/* Stretches of one device's time in which it worked, disjoint and in order. */
struct busy {
	VEC(struct busy_span) spans;
};

struct busy_span {
	uint64_t begin_ns, end_ns;
	uint64_t before_ns; /* busy before it */
};

static int busy_collect(struct busy *b, const struct analysis *a, uint32_t device)
{
	b->spans.len = 0;
	vec_for_each(&a->ops, op) {
		struct busy_span *last = b->spans.len ? vec_last(&b->spans) : NULL;
		if (op->device != device || op->end_ns == op->start_ns)
			continue;
		if (last && op->start_ns <= last->end_ns) {
			last->end_ns = op->end_ns > last->end_ns ? op->end_ns : last->end_ns;
			continue;
		}
		struct busy_span span = { .begin_ns = op->start_ns, .end_ns = op->end_ns };
		if (last)
			span.before_ns = last->before_ns + last->end_ns - last->begin_ns;
		if (vec_push(&b->spans, span) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Busy time up to a moment. */
static uint64_t busy_until(const struct busy *b, uint64_t time_ns)
{
	size_t at = bisect(b->spans.len, i, b->spans.data[i].begin_ns < time_ns);
	if (!at)
		return 0;
	const struct busy_span *s = &b->spans.data[at - 1];
	return s->before_ns + (time_ns < s->end_ns ? time_ns : s->end_ns) - s->begin_ns;
}

/* Whether work of this process counts for a step: those of nobody known are everybody's. */
static bool is_of(const struct step *s, uint32_t process)
{
	return !s->process || !process || s->process == process;
}

/* The step of @process in which @time_ns lies; @count: none. Steps of one process do not overlap. */
static size_t step_at(const struct step *steps, size_t count, uint64_t time_ns, uint32_t process)
{
	size_t below = bisect(count, i, steps[i].begin_ns <= time_ns);
	/* Those of other ranks may have begun in between: so many are looked at. */
	for (size_t back = 0; back < 64 && below-- > 0; back++) {
		if (is_of(&steps[below], process) && time_ns < steps[below].end_ns)
			return below;
	}
	return count;
}

static int sum_busy(struct analysis *a, const struct filter *f, const struct step *steps,
		    size_t count, struct step_totals *ret)
{
	struct busy b = { 0 };
	int rc = 0;
	CLEANUP_FREE uint32_t *owner = calloc(a->devices.len + 1, sizeof(*owner));
	if (!owner)
		return -ENOMEM;
	vec_for_each(&a->ops, op)
		owner[op->device] =
			owner[op->device] ? owner[op->device] : analysis_op_process(a, op);
	for (uint32_t d = 0; d < a->devices.len && !rc; d++) {
		if (!f->device_passes[d])
			continue;
		rc = busy_collect(&b, a, d);
		for (size_t i = 0; i < count && !rc; i++) {
			if (b.spans.len && is_of(&steps[i], owner[d]))
				ret[i].busy_ns += busy_until(&b, steps[i].end_ns) -
						  busy_until(&b, steps[i].begin_ns);
		}
	}
	vec_release(&b.spans);
	return rc;
}

/* For each of @steps; the devices and threads that pass @f only. 0 or -ENOMEM. */
static int steps_sum(struct analysis *a, const struct filter *f, const struct step *steps,
		     size_t count, struct step_totals *ret)
{
	if (count)
		memset(ret, 0, count * sizeof(*ret));
	vec_for_each(&a->ops, op) {
		const struct launch *l = analysis_op_launch(a, op);
		bool is_seen = l && analysis_launch_is_seen(a, l) && a->steps.len;
		/* Steps found by what the device did are of its time, not the host's. */
		uint64_t time_ns = is_seen ? l->time_ns : op->start_ns;
		size_t i = step_at(steps, count, time_ns, analysis_op_process(a, op));
		if (i == count || !filter_on(f, op->device, op->queue) ||
		    !f->name_passes[op->name] || (l && !filter_site(f, &a->sites.data[l->site])))
			continue;
		ret[i].device_ns += op->end_ns - op->start_ns;
		ret[i].launches++;
	}
	return sum_busy(a, f, steps, count, ret);
}

static int list_fill(struct analysis *a, const struct filter *f, struct step_summary **ret,
		     size_t *ret_count)
{
	const struct step *steps;
	size_t count, kept = 0;
	if (steps_of(a, &steps, &count) < 0)
		return -ENOMEM;
	CLEANUP_FREE struct step_totals *sums = calloc(count + 1, sizeof(*sums));
	CLEANUP_FREE struct step_summary *list = calloc(count + 1, sizeof(*list));
	if (!sums || !list || steps_sum(a, f, steps, count, sums) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		uint32_t process = steps[i].process;
		if (steps[i].begin_ns < f->begin_ns || steps[i].end_ns > f->end_ns ||
		    (process && !f->process_passes[process]))
			continue;
		list[kept++] = (struct step_summary){
			.number = step_number(steps, i),
			.name = analysis_text(a, steps[i].text),
			.is_warmup = steps[i].is_warmup,
			.rank = a->processes.data[process].rank,
			.begin_ns = steps[i].begin_ns,
			.end_ns = steps[i].end_ns,
			.busy_ns = sums[i].busy_ns,
			.device_ns = sums[i].device_ns,
			.ops = sums[i].launches,
		};
	}
	*ret = TAKE(list);
	*ret_count = kept;
	return 0;
}

int analysis_step_list(struct analysis *a, const struct analysis_filter *filter,
		       struct step_summary **ret, size_t *ret_count, struct err *err)
{
	struct filter f = { 0 };
	int rc = filter_init(&f, a, filter, err);
	if (rc < 0)
		return rc;
	rc = list_fill(a, &f, ret, ret_count);
	filter_release(&f);
	return rc < 0 ? err_set(err, rc, "cannot list steps") : 0;
}
