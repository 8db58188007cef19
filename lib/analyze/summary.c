/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/summary.h"

#include "analyze/account.h"
#include "analyze/attribute.h"
#include "analyze/filter.h"
#include "analyze/outliers.h"
#include "analyze/power.h"
#include "analyze/ranks.h"
#include "analyze/steps.h"

#include <errno.h>

#define MISSING_PREFIX "missing."

struct summing {
	struct analysis *a;
	const struct filter *f;
	struct analysis_summary *s;
	struct device_summary *device;
};

void analysis_summary_release(struct analysis_summary *s)
{
	free(s->devices);
	free(s->lost);
	free(s->outliers);
	free(s->missing);
	*s = (struct analysis_summary){ 0 };
}

/* ---- the devices ---- */

static int sum_charge(void *data, const struct charge *charge)
{
	struct summing *x = data;
	if (!filter_site(x->f, &x->a->sites.data[charge->site]))
		return 0;
	x->device->ns[charge->state] += charge->ns;
	x->device->energy_uj[charge->state] += power_energy(charge->watts, charge->ns);
	if (charge->state != ACCOUNT_BUSY)
		return 0;
	if (analysis_outlier(x->a, charge->op - 1)) {
		x->device->outlier_ns += charge->ns;
		return 0;
	}
	switch (x->a->ops.data[charge->op - 1].kind) {
	case LAUNCH_COPY:
	case LAUNCH_FILL:
		x->device->copy_ns += charge->ns;
		x->device->copy_uj += power_energy(charge->watts, charge->ns);
		break;
	case LAUNCH_COLLECTIVE:
		x->device->collective_ns += charge->ns;
		x->device->collective_uj += power_energy(charge->watts, charge->ns);
		break;
	default:
		break;
	}
	return 0;
}

static void device_add(struct device_summary *to, const struct device_summary *from)
{
	for (int i = 0; i < ACCOUNT_STATE_COUNT; i++) {
		to->ns[i] += from->ns[i];
		to->energy_uj[i] += from->energy_uj[i];
	}
	to->copy_ns += from->copy_ns;
	to->collective_ns += from->collective_ns;
	to->copy_uj += from->copy_uj;
	to->collective_uj += from->collective_uj;
	to->outlier_ns += from->outlier_ns;
	to->ops += from->ops;
	to->clipped += from->clipped;
	to->launched_idle += from->launched_idle;
	to->queued += from->queued;
	if (from->longest_gap_ns > to->longest_gap_ns)
		to->longest_gap_ns = from->longest_gap_ns;
	to->end_ns += from->end_ns - from->begin_ns; /* as a length: the sum begins at 0 */
}

/* Whose a device is: of several runs, each has its own. */
static uint32_t process_of(const struct analysis *a, uint32_t device)
{
	if (a->devices.data[device].process || !steps_have_runs(a))
		return a->devices.data[device].process;
	vec_for_each(&a->ops, op) {
		if (op->device == device)
			return analysis_op_process(a, op);
	}
	return 0;
}

/* Steps that lie in a window found by them: of one rank, which has a device of its own, its own. */
static void sum_steps(struct summing *x, uint32_t device, const struct window *w)
{
	uint32_t process = process_of(x->a, device);
	const struct step *steps;
	size_t count, inside = 0, warmup = 0;

	if (w->source != WINDOW_STEPS)
		return;
	x->s->is_window_of_steps = true;
	if (steps_of(x->a, &steps, &count) < 0)
		return;
	for (const struct step *s = steps; s < steps + count; s++) {
		if (process && s->process && s->process != process)
			continue;
		warmup += s->is_warmup && s->end_ns <= w->begin_ns && !x->f->has_time;
		if (s->begin_ns < w->begin_ns || s->end_ns > w->end_ns)
			continue;
		inside++;
		x->s->step_name = analysis_text(x->a, s->text);
	}
	x->s->steps = inside > x->s->steps ? inside : x->s->steps;
	x->s->device_steps += inside;
	x->s->warmup_steps = warmup > x->s->warmup_steps ? warmup : x->s->warmup_steps;
}

static int sum_devices(struct summing *x)
{
	struct window given = { x->f->begin_ns, x->f->end_ns, x->f->source };
	struct account_sink sink = { .data = x, .queues = x->f->queues, .charge = sum_charge };
	struct analysis *a = x->a;

	if (!a->has_timeline)
		return 0;
	x->s->devices = calloc(a->devices.len, sizeof(*x->s->devices));
	struct account *acc = account_of(a);
	if (!x->s->devices || !acc)
		return -ENOMEM;
	x->s->has_energy = power_any(a);
	for (uint32_t d = 0; d < a->devices.len; d++) {
		struct account_totals totals;
		if (!x->f->device_passes[d])
			continue;
		x->device = &x->s->devices[x->s->device_count];
		int rc = account_device(acc, d, x->f->has_time ? &given : NULL, &sink, &totals);
		if (rc == -ENOENT)
			continue;
		if (rc < 0)
			return rc;
		x->device->name = analysis_text(a, a->devices.data[d].text);
		x->device->runtime = analysis_text(a, a->devices.data[d].runtime);
		x->device->index = a->devices.data[d].index;
		x->device->begin_ns = totals.window.begin_ns;
		x->device->end_ns = totals.window.end_ns;
		x->device->ops = totals.ops;
		x->device->clipped = totals.clipped;
		x->device->launched_idle = totals.launched_idle;
		x->device->queued = totals.queued;
		x->device->longest_gap_ns = totals.longest_gap_ns;
		device_add(&x->s->all, x->device);
		sum_steps(x, d, &totals.window);
		x->s->device_count++;
	}
	return 0;
}

/* The largest part of the time. What lies before and after all work tells nothing. */
static enum verdict find_verdict(const struct analysis_summary *s)
{
	const struct device_summary *d = &s->all;
	const struct {
		enum verdict verdict;
		uint64_t ns;
	} parts[] = {
		{ VERDICT_KERNEL, device_kernel_ns(d) },
		{ VERDICT_HOST,
		  d->ns[ACCOUNT_LATE] + d->ns[ACCOUNT_SYNC] + d->ns[ACCOUNT_BLOCKED] },
		{ VERDICT_LAUNCH, d->ns[ACCOUNT_FLIGHT] },
		{ VERDICT_COPY, d->copy_ns + d->ns[ACCOUNT_COPY] },
		{ VERDICT_COMMUNICATION, d->collective_ns },
		{ VERDICT_UNKNOWN, d->ns[ACCOUNT_UNKNOWN] },
	};
	enum verdict verdict = VERDICT_NONE;
	uint64_t most = 0;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (parts[i].ns > most) {
			most = parts[i].ns;
			verdict = parts[i].verdict;
		}
	}
	/* What looks idle may have been work that is not in the capture. */
	if (s->graphs_unrecorded && (verdict == VERDICT_HOST || verdict == VERDICT_LAUNCH))
		return VERDICT_UNKNOWN;
	return verdict;
}

/* ---- how far it is to be trusted ---- */

static enum stack_cause stack_cause(const struct stack *stack)
{
	uint32_t cause = stack->flags >> STACK_CAUSE_SHIFT;
	return cause < STACK_CAUSE_COUNT ? (enum stack_cause)cause : STACK_CAUSE_NONE;
}

static void sum_samples(struct summing *x)
{
	vec_for_each(&x->a->samples, s) {
		const struct sample_group *g = &x->a->sample_groups.data[s->group];
		const struct stack *stack = &x->a->stacks.data[g->stack];
		bool is_rooted = stack->flags & STACK_ROOTED;
		if (!filter_group(x->f, g) || !filter_time(x->f, s->time_ns))
			continue;
		if (s->flags & CPU_SAMPLE_SPAN) {
			x->s->span_ns += s->weight;
			x->s->span_rooted_ns += is_rooted ? s->weight : 0;
			continue;
		}
		x->s->cpu_samples += s->weight;
		if (is_rooted)
			x->s->cpu_rooted += s->weight;
		else
			x->s->cpu_by_cause[stack_cause(stack)] += s->weight;
		if (stack->flags & STACK_PYTHON_LATE)
			x->s->cpu_python_late += s->weight;
	}
}

static void sum_launches(struct summing *x)
{
	vec_for_each(&x->a->launches, l) {
		const struct site *site = &x->a->sites.data[l->site];
		if (!filter_site(x->f, site) || !filter_time(x->f, l->time_ns))
			continue;
		x->s->launches++;
		x->s->launches_rooted += (x->a->stacks.data[site->stack].flags & STACK_ROOTED) != 0;
		x->s->launches_before += (l->flags & LAUNCH_BEFORE_WINDOW) != 0;
		x->s->launches_lent += (l->flags & LAUNCH_STACK_LENT) != 0;
		x->s->launches_replayed += (l->flags & LAUNCH_REPLAY) != 0;
	}
}

/* By stack: whether one of its frames is Python's. */
static bool *find_python(const struct analysis *a, bool *ret_any)
{
	CLEANUP_FREE bool *nodes = calloc(pairtab_count(&a->stack_nodes), sizeof(*nodes));
	bool *python = calloc(a->stacks.len, sizeof(*python));

	/* A caller's node comes before those that it called. */
	for (uint32_t i = 1; nodes && i < pairtab_count(&a->stack_nodes); i++) {
		struct pair step = pairtab_get(&a->stack_nodes, i);
		uint32_t object = analysis_frame(a, step.second).object;
		nodes[i] = nodes[step.first] || a->objects.data[object].kind == OBJECT_PYTHON;
	}
	for (size_t i = 0; nodes && python && i < a->stacks.len; i++) {
		python[i] = nodes[a->stacks.data[i].leaf];
		*ret_any |= python[i];
	}
	if (!nodes) {
		free(python);
		return NULL;
	}
	return python;
}

static int sum_ops(struct summing *x)
{
	struct analysis *a = x->a;
	CLEANUP_FREE bool *python = find_python(a, &x->s->has_python);
	if (!python)
		return -ENOMEM;
	vec_for_each(&a->ops, op) {
		const struct launch *l = analysis_op_launch(a, op);
		uint32_t site;
		if (!filter_on(x->f, op->device, op->queue) || !filter_time(x->f, op->start_ns))
			continue;
		if (analysis_op_site(a, op, &site) < 0)
			return -ENOMEM;
		if (!filter_site(x->f, &a->sites.data[site]))
			continue;
		x->s->ops++;
		x->s->launches_replayed += op->captured != 0;
		x->s->ops_linked += l && analysis_launch_is_seen(a, l);
		x->s->ops_under_python += python[a->sites.data[site].stack];
	}
	return 0;
}

static int sum_outliers(struct summing *x)
{
	struct analysis *a = x->a;
	x->s->outliers = calloc(a->outliers.len + 1, sizeof(*x->s->outliers));
	if (!x->s->outliers)
		return -ENOMEM;
	vec_for_each(&a->outliers, o) {
		const struct op *op = &a->ops.data[o->op];
		if (!filter_on(x->f, op->device, op->queue) || !filter_time(x->f, op->start_ns))
			continue;
		x->s->outliers[x->s->outlier_count++] = (struct outlier_summary){
			.name = strtab_text(&a->names, op->name),
			.device = a->devices.data[op->device].index,
			.kind = op->kind,
			.start_ns = op->start_ns,
			.ns = op->end_ns - op->start_ns,
			.median_ns = o->median_ns,
		};
	}
	return 0;
}

/* ---- graphs ---- */

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* Stacks that end in the call that launches a whole graph, in any runtime. */
static bool is_graph_launch(const struct analysis *a, const struct stack *s)
{
	if (!s->leaf)
		return false;
	uint32_t frame = pairtab_get(&a->stack_nodes, s->leaf).second;
	uint32_t name = a->objects.data[analysis_frame(a, frame).object].name;
	return strstr(analysis_text(a, name), "GraphLaunch");
}

struct times {
	VEC(uint64_t) list;
};

static void times_unique(struct times *t)
{
	size_t kept = 0;
	if (t->list.len)
		qsort(t->list.data, t->list.len, sizeof(*t->list.data), compare_times);
	for (size_t i = 0; i < t->list.len; i++) {
		if (!kept || t->list.data[kept - 1] != t->list.data[i])
			t->list.data[kept++] = t->list.data[i];
	}
	t->list.len = kept;
}

/* When graphs were launched: as host calls, as launches or both; and those with work. */
static int graphs_collect(const struct summing *x, struct times *calls, struct times *seen)
{
	const struct analysis *a = x->a;
	CLEANUP_FREE bool *is_launch = calloc(a->stacks.len + 1, sizeof(*is_launch));
	if (!is_launch)
		return -ENOMEM;
	for (size_t i = 0; i < a->stacks.len; i++)
		is_launch[i] = is_graph_launch(a, &a->stacks.data[i]);
	vec_for_each(&a->samples, s) {
		const struct sample_group *g = &a->sample_groups.data[s->group];
		if (s->flags & CPU_SAMPLE_SPAN && is_launch[g->stack] && filter_group(x->f, g) &&
		    filter_time(x->f, s->time_ns) && vec_push(&calls->list, s->time_ns) < 0)
			return -ENOMEM;
	}
	vec_for_each(&a->launches, l) {
		bool is_graph = l->kind == LAUNCH_GRAPH;
		if (is_graph && filter_site(x->f, &a->sites.data[l->site]) &&
		    filter_time(x->f, l->time_ns) && vec_push(&calls->list, l->time_ns) < 0)
			return -ENOMEM;
		if ((is_graph || l->flags & LAUNCH_REPLAY) && l->ops &&
		    vec_push(&seen->list, l->time_ns) < 0)
			return -ENOMEM;
	}
	times_unique(calls);
	times_unique(seen);
	return 0;
}

/* Where a profiler's buffer ran full, graphs are launched and their work is not in the trace. */
static int sum_graphs(struct summing *x)
{
	struct times calls = { 0 }, seen = { 0 };
	struct analysis_summary *s = x->s;
	int rc = graphs_collect(x, &calls, &seen);

	s->graphs = calls.list.len;
	vec_for_each(&calls.list, time)
		s->graphs_unrecorded +=
			!seen.list.len ||
			!bsearch(time, seen.list.data, seen.list.len, sizeof(*time), compare_times);
	/* The last one of a window may run after its end. Nothing is said of captures without any
	 * device time: there, all of it is missing. */
	if (s->graphs_unrecorded == 1 || !x->a->ops.len)
		s->graphs_unrecorded = 0;
	vec_release(&calls.list);
	vec_release(&seen.list);
	return rc;
}

static int sum_ranks(struct summing *x)
{
	CLEANUP(analysis_ranks_release) struct ranks_summary ranks = { .rank_count = 0 };
	int rc = ranks_find(x->a, x->f, &ranks);
	x->s->ranks = ranks.sets ? ranks.rank_count : 0;
	x->s->rank_wait_ns = ranks.wait_ns;
	return rc;
}

static int sum_attribution(struct summing *x)
{
	const struct attribution *t;
	int rc = attribution_of(x->a, x->f, &t);
	if (rc < 0)
		return rc;
	x->s->by_correlation = t->by_rule[ATTRIBUTE_CORRELATION];
	x->s->by_overlap = t->by_rule[ATTRIBUTE_OVERLAP];
	x->s->by_launches = t->by_rule[ATTRIBUTE_LAUNCHES];
	x->s->by_nobody = t->by_rule[ATTRIBUTE_NONE];
	for (int i = 0; i < ATTRIBUTE_RULE_COUNT; i++)
		x->s->samples += t->by_rule[i];
	return 0;
}

/* Many LOST records of one kind and cause are one line. */
static int sum_lost(struct summing *x)
{
	struct analysis_summary *s = x->s;
	s->lost = calloc(x->a->lost.len + 1, sizeof(*s->lost));
	if (!s->lost)
		return -ENOMEM;
	struct hash known = { 0 };
	int rc = 0;
	vec_for_each(&x->a->lost, l) {
		uint64_t key = hash_pair(l->what, l->why);
		const uint64_t *at = hash_get(&known, key);
		if (at) {
			s->lost[*at].count += l->count;
			continue;
		}
		rc = rc ? rc : hash_set(&known, key, s->lost_count);
		s->lost[s->lost_count++] =
			(struct lost_summary){ analysis_text(x->a, l->what),
					       analysis_text(x->a, l->why), l->count };
	}
	hash_release(&known);
	return rc;
}

static int sum_missing(struct summing *x)
{
	struct analysis_summary *s = x->s;
	s->missing = calloc(x->a->info.len + 1, sizeof(*s->missing));
	if (!s->missing)
		return -ENOMEM;
	vec_for_each(&x->a->info, i) {
		const char *key = analysis_text(x->a, i->key);
		if (strncmp(key, MISSING_PREFIX, strlen(MISSING_PREFIX)))
			continue;
		s->missing[s->missing_count++] =
			(struct info_summary){ key + strlen(MISSING_PREFIX),
					       analysis_text(x->a, i->value) };
	}
	return 0;
}

static void sum_capture(struct summing *x)
{
	const struct analysis *a = x->a;
	struct analysis_summary *s = x->s;
	s->source = analysis_text(a, a->header.source);
	s->tool = analysis_text(a, a->header.tool);
	s->host = analysis_text(a, a->header.host);
	s->kernel = analysis_text(a, a->header.kernel);
	s->arch = analysis_text(a, a->header.arch);
	s->event = analysis_text(a, a->header.event);
	s->frequency = a->header.frequency;
	analysis_span(a, &s->begin_ns, &s->end_ns);
	s->has_end = a->has_end;
	s->recorder_cpu_ns = a->end.recorder_cpu_ns;
	s->probe_ns = a->end.probe_ns;
	s->exit_status = a->has_end ? a->end.exit_status : -1;
	s->odd_times = a->odd.times;
	s->reused_correlations = a->odd.correlations_reused;
	s->incomplete_code_objects = a->odd.code_objects_incomplete;
}

static int sum_description(struct summing *x)
{
	sum_capture(x);
	int rc = sum_lost(x);
	return rc ? rc : sum_missing(x);
}

int analysis_describe(struct analysis *a, struct analysis_summary *ret, struct err *err)
{
	struct analysis_summary s = { .step_name = "" };
	int rc = sum_description(&(struct summing){ .a = a, .s = &s });

	if (rc < 0) {
		analysis_summary_release(&s);
		return err_set(err, rc, "cannot describe the capture");
	}
	*ret = s;
	return 0;
}

int analysis_summarize(struct analysis *a, const struct analysis_filter *filter,
		       struct analysis_summary *ret, struct err *err)
{
	struct analysis_summary s = { .step_name = "" };
	struct filter f = { 0 };
	struct summing x = { .a = a, .f = &f, .s = &s };

	int rc = filter_init(&f, a, filter, err);
	if (rc < 0)
		return rc;
	sum_samples(&x);
	sum_launches(&x);
	rc = sum_description(&x);
	rc = rc ? rc : sum_devices(&x);
	rc = rc ? rc : sum_ops(&x);
	rc = rc ? rc : sum_outliers(&x);
	rc = rc ? rc : sum_graphs(&x);
	rc = rc ? rc : sum_ranks(&x);
	rc = rc ? rc : sum_attribution(&x);
	filter_release(&f);
	if (rc < 0) {
		analysis_summary_release(&s);
		return err_set(err, rc, "cannot summarize the capture");
	}
	s.verdict = find_verdict(&s);
	*ret = s;
	return 0;
}
