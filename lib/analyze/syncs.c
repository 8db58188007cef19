/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/syncs.h"

#include "analyze/account.h"
#include "analyze/sort.h"
#include "base/bisect.h"

#include <errno.h>

void syncs_release(struct syncs *s)
{
	vec_release(&s->calls);
}

/* A copy that was done when the call came back: the host waited for it. */
static bool waits_for_copy(const struct analysis *a, const struct op *op)
{
	const struct launch *l = analysis_op_launch(a, op);
	return op->kind == LAUNCH_COPY && l && l->kind == LAUNCH_COPY && l->thread &&
	       l->duration_ns && op->start_ns >= l->time_ns &&
	       op->end_ns <= l->time_ns + l->duration_ns;
}

bool syncs_any(const struct analysis *a)
{
	if (a->syncs.len)
		return true;
	vec_for_each(&a->ops, op) {
		if (waits_for_copy(a, op))
			return true;
	}
	return false;
}

static int collect(struct syncs *s, const struct analysis *a, const struct filter *f)
{
	vec_for_each(&a->syncs, x) {
		if (!f->thread_passes[x->thread] || !filter_time(f, x->time_ns) ||
		    (x->device && !f->device_passes[x->device]))
			continue;
		if (vec_push(&s->calls, (struct sync_call){
						.time_ns = x->time_ns,
						.end_ns = x->time_ns + x->duration_ns,
						.thread = x->thread,
						.site = x->site,
						.text = x->text,
					}) < 0)
			return -ENOMEM;
	}
	vec_for_each(&a->ops, op) {
		const struct launch *l = analysis_op_launch(a, op);
		if (!waits_for_copy(a, op) || !f->thread_passes[l->thread] ||
		    !filter_on(f, op->device, op->queue) || !filter_time(f, l->time_ns))
			continue;
		if (vec_push(&s->calls, (struct sync_call){
						.time_ns = l->time_ns,
						.end_ns = l->time_ns + l->duration_ns,
						.thread = l->thread,
						.site = l->site,
					}) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int compare_calls(const void *a, const void *b)
{
	const struct sync_call *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return x->site < y->site ? -1 : x->site > y->site;
}

struct gap {
	uint64_t begin_ns, end_ns;
	uint32_t thread;      /* that launched what ended it, */
	uint64_t launched_ns; /* and when; 0: it is not known */
};

struct gaps {
	VEC(struct gap) list; /* of one device */
};

/* The first call of @thread that ends at @time_ns or later. */
static size_t first_ending(const struct syncs *s, uint32_t thread, uint64_t time_ns)
{
	return bisect(s->calls.len, i,
		      s->calls.data[i].thread < thread || (s->calls.data[i].thread == thread &&
							   s->calls.data[i].end_ns < time_ns));
}

/* Each moment of the gap to one call: until the next one begins. */
static void cost_gap(struct syncs *s, const struct gap *g)
{
	for (size_t i = first_ending(s, g->thread, g->begin_ns); i < s->calls.len; i++) {
		struct sync_call *call = &s->calls.data[i];
		if (call->thread != g->thread || call->time_ns >= g->end_ns)
			break;
		bool has_next = i + 1 < s->calls.len && s->calls.data[i + 1].thread == g->thread;
		uint64_t next = has_next ? s->calls.data[i + 1].time_ns : UINT64_MAX;
		/* Did the device run out of work while the host waited, or had it none before? */
		bool is_drained = call->time_ns <= g->begin_ns;
		/* What was launched before the call is late for other reasons. */
		if (is_drained && g->launched_ns && g->launched_ns < call->time_ns)
			continue;
		uint64_t from = is_drained ? g->begin_ns : call->time_ns;
		uint64_t to = is_drained ? g->end_ns : call->end_ns;
		to = to < next ? to : next;
		to = to < g->end_ns ? to : g->end_ns;
		call->idle_ns += to > from ? to - from : 0;
	}
}

struct gaps_of {
	const struct analysis *a;
	struct gaps *gaps;
};

/* A gap's charges come behind it, and know what ended it. */
static int take_charge(void *data, const struct charge *charge)
{
	struct gaps_of *x = data;
	if (charge->state == ACCOUNT_BUSY || !charge->op || !x->gaps->list.len)
		return 0;
	const struct launch *l = analysis_op_launch(x->a, &x->a->ops.data[charge->op - 1]);
	if (l && analysis_launch_is_seen(x->a, l))
		vec_last(&x->gaps->list)->launched_ns = l->time_ns;
	return 0;
}

static int keep_gap(void *data, uint32_t thread, uint64_t begin_ns, uint64_t end_ns)
{
	struct gaps_of *x = data;
	return vec_push(&x->gaps->list, (struct gap){ begin_ns, end_ns, thread, 0 });
}

static int cost_devices(struct syncs *s, struct analysis *a, const struct filter *f)
{
	struct window given = { f->begin_ns, f->end_ns, f->source };
	struct gaps gaps = { 0 };
	struct gaps_of of = { a, &gaps };
	struct account_sink sink = {
		.data = &of,
		.queues = f->queues,
		.charge = take_charge,
		.gap = keep_gap,
	};
	struct account *acc = account_of(a);
	int rc = acc ? 0 : -ENOMEM;

	for (uint32_t d = 0; d < a->devices.len && !rc; d++) {
		struct account_totals totals;
		gaps.list.len = 0;
		if (!f->device_passes[d])
			continue;
		rc = account_device(acc, d, f->has_time ? &given : NULL, &sink, &totals);
		if (rc == -ENOENT)
			rc = 0;
		vec_for_each(&gaps.list, g) {
			/* What stands between two pieces of work only. */
			if (!rc && g->begin_ns != totals.window.begin_ns &&
			    g->end_ns != totals.window.end_ns)
				cost_gap(s, g);
		}
	}
	vec_release(&gaps.list);
	return rc;
}

int syncs_init(struct syncs *s, struct analysis *a, const struct filter *f)
{
	int rc = collect(s, a, f);
	if (!rc && s->calls.len) {
		qsort(s->calls.data, s->calls.len, sizeof(*s->calls.data), compare_calls);
		rc = a->has_timeline ? cost_devices(s, a, f) : 0;
	}
	if (rc < 0)
		syncs_release(s);
	return rc;
}
