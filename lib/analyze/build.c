/* SPDX-License-Identifier: Apache-2.0 */
/* The profile: every metric's values put where their call paths end. */
#include "analyze/build.h"
#include "analyze/attribute.h"
#include "analyze/costs.h"
#include "analyze/host_time.h"
#include "analyze/memory_events.h"
#include "analyze/power.h"
#include "analyze/sort.h"
#include "profile/filter.h"

#include <errno.h>

/* A metric: whether the capture has data for it, and how its values get into the tree. */
struct metric_ops {
	const char *name, *unit;
	bool (*has_data)(const struct analysis *a);
	int (*build)(struct build *b);
	const char *info; /* key of the INFO record that says why there is none */
};

int build_add(struct build *b, uint32_t node, uint64_t value)
{
	if (value)
		profile_add(b->p, node, b->metric, value);
	return 0;
}

static bool has_ops(const struct analysis *a)
{
	return a->ops.len;
}

static bool has_wall(const struct analysis *a)
{
	return a->ops.len && a->has_timeline;
}

static bool has_launches(const struct analysis *a)
{
	return a->launches.len;
}

static bool has_device_samples(const struct analysis *a)
{
	return a->device_samples.len;
}

static bool lost_any(const struct analysis *a, const char *what)
{
	vec_for_each(&a->lost, l) {
		if (l->count && !strcmp(analysis_text(a, l->what), what))
			return true;
	}
	return false;
}

/* What was lost has a frame of its own; nobody knows whose it was, so a filter leaves it out. */
static int build_lost(struct build *b, const char *what)
{
	const struct analysis_filter *f = &b->opt->filter;
	uint32_t node;
	if (f->pid || f->tid || f->comm || f->device || f->kernel || f->time || f->step ||
	    f->stream || f->scope || !lost_any(b->a, what))
		return 0;
	if (paths_missing(b->paths, "[lost]", &node) < 0)
		return -ENOMEM;
	vec_for_each(&b->a->lost, l) {
		if (!strcmp(analysis_text(b->a, l->what), what))
			build_add(b, node, l->count);
	}
	return 0;
}

static int charge_wall(void *data, const struct charge *charge)
{
	struct build *b = data;
	const struct filter *f = b->f;
	uint32_t node;

	if (!filter_site(f, &b->a->sites.data[charge->site]))
		return 0;
	if (charge->state != ACCOUNT_BUSY) {
		if (b->opt->filter.kernel)
			return 0;
		if (paths_on(b->paths, b->device, 0) < 0 ||
		    paths_idle(b->paths, charge->site, charge->state, &node) < 0)
			return -ENOMEM;
		return build_add(b, node, charge->ns);
	}
	const struct op *op = &b->a->ops.data[charge->op - 1];
	if (!f->name_passes[op->name])
		return 0;
	if (paths_on(b->paths, op->device, op->queue) < 0 ||
	    paths_kernel(b->paths, charge->site, op->name, &node) < 0)
		return -ENOMEM;
	return build_add(b, node, charge->ns);
}

/* Run the accounting for every device that is meant. */
static int build_account(struct build *b, const struct account_sink *sink)
{
	struct window given = { b->f->begin_ns, b->f->end_ns, b->f->source };
	struct account_sink filtered = *sink;
	struct account *acc = account_of(b->a);
	filtered.queues = b->f->queues;
	if (!acc)
		return -ENOMEM;
	for (uint32_t d = 0; d < b->a->devices.len; d++) {
		struct account_totals totals;
		if (!b->f->device_passes[d])
			continue;
		b->device = d;
		int rc = account_device(acc, d, b->f->has_time ? &given : NULL, &filtered, &totals);
		if (rc < 0 && rc != -ENOENT)
			return rc;
	}
	return 0;
}

static bool is_wanted(const struct build *b, const char *name);
static int idle_host_gap(void *data, uint32_t thread, uint64_t begin_ns, uint64_t end_ns);

/* Time by what the devices did, and on the way what the host did while they were idle. */
static int build_wall(struct build *b)
{
	struct account_sink sink = { .data = b, .charge = charge_wall };
	if (is_wanted(b, "idle-host")) {
		b->idle_sums = calloc(b->a->sample_groups.len + 1, sizeof(*b->idle_sums));
		if (!b->idle_sums || host_time_new(&b->host, b->a) < 0)
			return -ENOMEM;
		sink.gap = idle_host_gap;
	}
	return build_account(b, &sink);
}

static bool has_energy(const struct analysis *a)
{
	return has_wall(a) && power_any(a);
}

/* Where the time stands, what the device took meanwhile. */
static int charge_energy(void *data, const struct charge *charge)
{
	struct charge energy = *charge;
	energy.ns = power_energy(charge->watts, charge->ns);
	return charge_wall(data, &energy);
}

static int build_energy(struct build *b)
{
	return build_account(b, &(struct account_sink){ .data = b, .charge = charge_energy });
}

/* ---- what the host did while the device was idle ---- */

static int charge_nothing(void *data, const struct charge *charge)
{
	(void)data;
	(void)charge;
	return 0;
}

static int idle_host_gap(void *data, uint32_t thread, uint64_t begin_ns, uint64_t end_ns)
{
	struct build *b = data;
	if (thread && b->f->thread_passes[thread])
		host_time_within(b->host, thread, begin_ns, end_ns, b->idle_sums);
	return 0;
}

static int build_sums(struct build *b, const uint64_t *sums);

static int build_idle_host(struct build *b)
{
	int rc = 0;
	if (!b->idle_sums) {
		b->idle_sums = calloc(b->a->sample_groups.len + 1, sizeof(*b->idle_sums));
		if (!b->idle_sums || host_time_new(&b->host, b->a) < 0)
			return -ENOMEM;
		rc = build_account(b, &(struct account_sink){ .data = b,
							      .charge = charge_nothing,
							      .gap = idle_host_gap });
	}
	return rc < 0 ? rc : build_sums(b, b->idle_sums);
}

bool build_op_passes(const struct build *b, const struct op *op)
{
	return filter_on(b->f, op->device, op->queue) && b->f->name_passes[op->name] &&
	       filter_time(b->f, op->start_ns);
}

int build_op(struct build *b, const struct op *op, uint64_t value)
{
	uint32_t site, node;
	if (analysis_op_site(b->a, op, &site) < 0)
		return -ENOMEM;
	if (!filter_site(b->f, &b->a->sites.data[site]))
		return 0;
	if (paths_on(b->paths, op->device, op->queue) < 0 ||
	    paths_kernel(b->paths, site, op->name, &node) < 0)
		return -ENOMEM;
	return build_add(b, node, value);
}

static int build_device_time(struct build *b)
{
	vec_for_each(&b->a->ops, op) {
		if (build_op_passes(b, op) && build_op(b, op, op->end_ns - op->start_ns) < 0)
			return -ENOMEM;
	}
	return 0;
}

bool build_launch_passes(const struct build *b, const struct launch *l)
{
	return b->f->name_passes[l->name] && filter_time(b->f, l->time_ns) &&
	       filter_on(b->f, b->a->queues.data[l->queue].device, l->queue) &&
	       filter_site(b->f, &b->a->sites.data[l->site]);
}

int build_launch_node(const struct build *b, const struct launch *l, uint32_t *ret)
{
	int rc = paths_on(b->paths, b->a->queues.data[l->queue].device, l->queue);
	return rc < 0 ? rc : paths_kernel(b->paths, l->site, l->name, ret);
}

/* Without the device's times, a graph's launch is one of each piece of work that was recorded into it.
 * 0: nothing is known of that. */
static int build_replayed(struct build *b, const struct launch *l)
{
	const uint64_t *last =
		l->ops ? NULL : hash_get(&b->a->graph_of, analysis_launch_detail(b->a, l)->graph);
	uint32_t site, node, count = 0;

	for (uint32_t i = last ? (uint32_t)*last : 0; i; count++) {
		const struct capture *c = &b->a->captures.data[i - 1];
		if (paths_on(b->paths, b->a->queues.data[l->queue].device, l->queue) < 0 ||
		    analysis_replayed_site(b->a, l->site, i, &site) < 0 ||
		    paths_kernel(b->paths, site, c->name, &node) < 0)
			return -ENOMEM;
		build_add(b, node, 1);
		i = c->next;
	}
	return count != 0;
}

static int build_launches(struct build *b)
{
	vec_for_each(&b->a->launches, l) {
		uint32_t node;
		if (!build_launch_passes(b, l))
			continue;
		if (l->kind == LAUNCH_GRAPH) {
			int rc = build_replayed(b, l);
			if (rc < 0)
				return rc;
			if (rc)
				continue;
		}
		if (build_launch_node(b, l, &node) < 0)
			return -ENOMEM;
		build_add(b, node, analysis_launch_detail(b->a, l)->count);
	}
	return build_lost(b, "launch");
}

/* One metric for each stall reason, beside the sum; more reasons than a profile has room for share
 * the last one's place in the tree only. */
static int stall_metric(struct build *b, uint32_t reason)
{
	char name[256];
	if (!b->has_stalls || !reason || profile_metric_count(b->p) >= PROFILE_METRICS_MAX)
		return -ENOENT;
	snprintf(name, sizeof(name), "stall:%s", analysis_text(b->a, reason));
	return profile_metric(b->p, name, "samples");
}

static int build_device_samples(struct build *b)
{
	const struct attribution *t;
	int rc = attribution_of(b->a, b->f, &t);
	if (rc < 0)
		return rc;
	vec_for_each(&t->list, x) {
		const struct place *place = &b->a->places.data[x->place];
		uint32_t node;
		rc = paths_on(b->paths, place->device, 0);
		if (rc < 0)
			break;
		rc = b->opt->kernels_only
			     ? paths_kernel(b->paths, x->site, place->name, &node)
			     : paths_place(b->paths, x->site, place, b->opt->leaf, &node);
		if (rc < 0)
			break;
		build_add(b, node, x->count);
		int stall = stall_metric(b, place->reason);
		if (stall >= 0 && x->count)
			profile_add(b->p, node, stall, x->count);
	}
	return rc < 0 ? rc : build_lost(b, "pc-sample");
}

static bool has_cpu_samples(const struct analysis *a)
{
	vec_for_each(&a->samples, s) {
		if (!(s->flags & CPU_SAMPLE_SPAN))
			return true;
	}
	return lost_any(a, "cpu-sample");
}

/* The part of [@begin_ns, @begin_ns + @length_ns) inside the time asked for. */
static uint64_t span_within(const struct filter *f, uint64_t begin_ns, uint64_t length_ns)
{
	uint64_t end_ns = begin_ns + length_ns;
	uint64_t from = begin_ns > f->begin_ns ? begin_ns : f->begin_ns;
	uint64_t to = end_ns < f->end_ns ? end_ns : f->end_ns;
	return from < to ? to - from : 0;
}

static uint64_t sample_count(const struct build *b, const struct sample *s)
{
	if (s->flags & CPU_SAMPLE_SPAN)
		return 0;
	return filter_time(b->f, s->time_ns) ? s->weight : 0;
}

static bool has_cpu_time(const struct analysis *a)
{
	if (a->header.frequency)
		return a->samples.len;
	vec_for_each(&a->samples, s) {
		if (s->flags & CPU_SAMPLE_SPAN)
			return true;
	}
	return false;
}

static uint64_t sample_ns(const struct build *b, const struct sample *s)
{
	if (s->flags & CPU_SAMPLE_SPAN)
		return span_within(b->f, s->time_ns, s->weight);
	uint64_t hz = b->a->header.frequency, ns;
	if (!hz || __builtin_mul_overflow(sample_count(b, s), 1000000000ull, &ns))
		return 0;
	return ns / hz;
}

static int groups_order(struct build *b)
{
	const struct analysis *a = b->a;
	size_t n = a->sample_groups.len;
	if (b->group_order)
		return 0;
	CLEANUP_FREE uint64_t *keys = malloc((n + 1) * sizeof(*keys));
	CLEANUP_FREE uint32_t *order = malloc((n + 1) * sizeof(*order));
	if (!keys || !order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct sample_group *g = &a->sample_groups.data[i];
		keys[i] = hash_pair(a->threads.data[g->thread].process, g->stack);
		order[i] = (uint32_t)i;
	}
	if (sort_by_key(keys, order, n) < 0)
		return -ENOMEM;
	b->group_order = TAKE(order);
	return 0;
}

/* Put the sum of each (thread, stack) on its node. */
static int build_sums(struct build *b, const uint64_t *sums)
{
	const struct analysis *a = b->a;
	if (groups_order(b) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < a->sample_groups.len; i++) {
		uint32_t group = b->group_order[i], node;
		if (!sums[group] || !filter_group(b->f, &a->sample_groups.data[group]))
			continue;
		if (paths_group(b->paths, group, &node) < 0)
			return -ENOMEM;
		build_add(b, node, sums[group]);
	}
	return 0;
}

/* Sums first: there are far fewer of them than samples. */
static int build_samples(struct build *b,
			 uint64_t (*value)(const struct build *, const struct sample *))
{
	CLEANUP_FREE uint64_t *sums = calloc(b->a->sample_groups.len + 1, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	vec_for_each(&b->a->samples, s)
		sums[s->group] += value(b, s);
	return build_sums(b, sums);
}

static int build_cpu_samples(struct build *b)
{
	int rc = build_samples(b, sample_count);
	return rc < 0 ? rc : build_lost(b, "cpu-sample");
}

static int build_cpu_time(struct build *b)
{
	return build_samples(b, sample_ns);
}

/* "event:NAME" for each event that was sampled on beside the header's. */
#define EVENT_METRIC "event:"

static int build_event(struct build *b, uint32_t event)
{
	CLEANUP_FREE uint64_t *sums = calloc(b->a->sample_groups.len + 1, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	vec_for_each(&b->a->event_samples, s) {
		if (s->event == event && filter_time(b->f, s->time_ns))
			sums[s->group] += s->weight;
	}
	return build_sums(b, sums);
}

static bool has_event(const struct analysis *a, const char *metric)
{
	if (strncmp(metric, EVENT_METRIC, strlen(EVENT_METRIC)) != 0)
		return false;
	vec_for_each(&a->sample_events, text) {
		if (!strcmp(metric + strlen(EVENT_METRIC), analysis_text(a, *text)))
			return true;
	}
	return false;
}

static bool event_wanted(const struct analysis_profile_options *opt, const char *metric)
{
	for (size_t i = 0; i < opt->metric_count; i++) {
		if (!strcmp(opt->metrics[i], metric))
			return true;
	}
	return !opt->metric_count;
}

static int build_events(struct build *b)
{
	for (uint32_t i = 0; i < b->a->sample_events.len; i++) {
		char name[256];
		snprintf(name, sizeof(name), EVENT_METRIC "%s",
			 analysis_text(b->a, b->a->sample_events.data[i]));
		if (!event_wanted(b->opt, name) ||
		    profile_metric_count(b->p) >= PROFILE_METRICS_MAX)
			continue;
		b->metric = profile_metric(b->p, name, "samples");
		if (b->metric < 0 || build_event(b, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool has_blocked(const struct analysis *a)
{
	return a->blocked.len;
}

static int build_blocked(struct build *b)
{
	CLEANUP_FREE uint64_t *sums = calloc(b->a->sample_groups.len + 1, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	vec_for_each(&b->a->blocked, x) {
		sums[x->group] += span_within(b->f, x->time_ns, x->duration_ns);
		/* Where exactly the others were is not known; just before it. */
		if (filter_time(b->f, x->time_ns))
			sums[x->group] += x->others_ns;
	}
	return build_sums(b, sums);
}

/* ---- calls that wait for a device ---- */

static int build_syncs_by(struct build *b, uint64_t (*value)(const struct sync_call *))
{
	int rc = b->has_syncs ? 0 : syncs_init(&b->syncs, b->a, b->f);
	b->has_syncs = !rc;
	for (size_t i = 0; i < b->syncs.calls.len && !rc; i++) {
		const struct sync_call *c = &b->syncs.calls.data[i];
		uint32_t node;
		rc = paths_call(b->paths, c->site, c->text, &node);
		if (!rc)
			build_add(b, node, value(c));
	}
	return rc;
}

static uint64_t sync_one(const struct sync_call *c)
{
	(void)c;
	return 1;
}

static uint64_t sync_wait(const struct sync_call *c)
{
	return c->end_ns - c->time_ns;
}

static uint64_t sync_idle(const struct sync_call *c)
{
	return c->idle_ns;
}

static int build_syncs(struct build *b)
{
	return build_syncs_by(b, sync_one);
}

static int build_sync_wait(struct build *b)
{
	return build_syncs_by(b, sync_wait);
}

static int build_sync_idle(struct build *b)
{
	return build_syncs_by(b, sync_idle);
}

static bool has_sync_idle(const struct analysis *a)
{
	return has_wall(a) && syncs_any(a);
}

static bool has_idle_host(const struct analysis *a)
{
	return has_wall(a) && (has_cpu_time(a) || has_blocked(a));
}

/* ---- memory ---- */

static int build_memory(struct build *b, enum memory_measure measure)
{
	CLEANUP_FREE uint64_t *sums = calloc(b->a->sample_groups.len + 1, sizeof(*sums));
	struct memory_rest rest = { 0 };
	uint32_t node;
	if (!sums || memory_sums(b->a, b->f, measure, sums, &rest) < 0)
		return -ENOMEM;
	if (rest.unknown && paths_missing(b->paths, "[unattributed]", &node) == 0)
		build_add(b, node, rest.unknown);
	if (rest.before && paths_missing(b->paths, "[allocated before recording]", &node) == 0)
		build_add(b, node, rest.before);
	return build_sums(b, sums);
}

static int build_memory_peak(struct build *b)
{
	return build_memory(b, MEMORY_PEAK);
}

static int build_memory_allocated(struct build *b)
{
	return build_memory(b, MEMORY_ALLOCATED);
}

static int build_allocations(struct build *b)
{
	return build_memory(b, MEMORY_ALLOCATIONS);
}

static const struct metric_ops metrics[] = {
	{ "wall", "ns", has_wall, build_wall, "missing.device-time" },
	{ "device-time", "ns", has_ops, build_device_time, "missing.device-time" },
	{ "device-samples", "samples", has_device_samples, build_device_samples,
	  "missing.device-samples" },
	{ "launches", "launches", has_launches, build_launches, "missing.launches" },
	{ "cpu-samples", "samples", has_cpu_samples, build_cpu_samples, "missing.cpu-samples" },
	{ "cpu-time", "ns", has_cpu_time, build_cpu_time, "missing.cpu-samples" },
	{ "idle-host", "ns", has_idle_host, build_idle_host, "missing.cpu-samples" },
	{ "blocked", "ns", has_blocked, build_blocked, "missing.blocked" },
	{ "syncs", "calls", syncs_any, build_syncs, NULL },
	{ "sync-wait", "ns", syncs_any, build_sync_wait, NULL },
	{ "sync-idle", "ns", has_sync_idle, build_sync_idle, "missing.device-time" },
	{ "energy", "uJ", has_energy, build_energy, NULL },
	{ "memory-peak", "bytes", memory_any, build_memory_peak, NULL },
	{ "memory-allocated", "bytes", memory_any, build_memory_allocated, NULL },
	{ "allocations", "calls", memory_any, build_allocations, NULL },
	{ "bytes", "bytes", has_bytes, build_bytes, NULL },
	{ "flops", "flops", has_flops, build_flops, NULL },
	{ "flops8", "flops", has_flops8, build_flops8, NULL },
	{ "flops16", "flops", has_flops16, build_flops16, NULL },
	{ "flops32", "flops", has_flops32, build_flops32, NULL },
	{ "flops64", "flops", has_flops64, build_flops64, NULL },
	{ "compute-roof", "ps", has_flops, build_compute_roof, NULL },
	{ "memory-roof", "ps", has_bytes, build_memory_roof, NULL },
};

/* "stall:REASON" comes with device-samples. */
static bool metric_is(const struct metric_ops *m, const char *name)
{
	return !strcmp(m->name, name) ||
	       (m->build == build_device_samples && !strncmp(name, "stall:", 6));
}

/* Parts of others, and what rates are made from. */
static bool is_on_request(const struct metric_ops *m)
{
	return !strcmp(m->unit, "ps") || (!strncmp(m->name, "flops", 5) && m->name[5]);
}

static bool metric_wanted(const struct metric_ops *m, const struct analysis_profile_options *opt)
{
	if (!opt->metric_count)
		return !is_on_request(m);
	for (size_t i = 0; i < opt->metric_count; i++) {
		if (metric_is(m, opt->metrics[i]))
			return true;
	}
	return false;
}

static bool is_wanted(const struct build *b, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		if (!strcmp(metrics[i].name, name))
			return metric_wanted(&metrics[i], b->opt) && metrics[i].has_data(b->a);
	}
	return false;
}

/* All of them, or one by name. */
static bool stalls_wanted(const struct analysis_profile_options *opt)
{
	bool wanted = !opt->metric_count;
	for (size_t i = 0; i < opt->metric_count; i++)
		wanted |= !strncmp(opt->metrics[i], "stall:", 6);
	return wanted && !opt->kernels_only;
}

const char *analysis_metric(size_t i)
{
	return i < ARRAY_SIZE(metrics) ? metrics[i].name : NULL;
}

bool analysis_has_metric(const struct analysis *a, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		if (metric_is(&metrics[i], name))
			return metrics[i].has_data(a);
	}
	return has_event(a, name);
}

static int metric_check(const struct analysis *a, const char *name, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		if (!metric_is(&metrics[i], name))
			continue;
		if (metrics[i].has_data(a))
			return 0;
		const char *why = metrics[i].info ? analysis_info(a, metrics[i].info) : NULL;
		bool needs_timeline = metrics[i].has_data == has_wall ||
				      metrics[i].has_data == has_sync_idle ||
				      metrics[i].has_data == has_idle_host;
		if (needs_timeline && !a->has_timeline && has_ops(a))
			return err_set(err, -EINVAL,
				       "no %s in this capture: it holds totals without a timeline",
				       name);
		if (why)
			return err_set(err, -EINVAL, "no %s in this capture: %s", name, why);
		return err_set(err, -EINVAL, "no %s in this capture", name);
	}
	if (has_event(a, name))
		return 0;
	return err_set(
		err, -EINVAL,
		"unknown metric '%s'; wall, device-time, device-samples, stall:REASON, "
		"launches, cpu-samples, cpu-time, event:NAME, idle-host, blocked, syncs, sync-wait, sync-idle, "
		"bytes, flops, flops8 to flops64, compute-roof and memory-roof are known",
		name);
}

static int build_all(struct build *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		if (!metric_wanted(&metrics[i], b->opt) || !metrics[i].has_data(b->a))
			continue;
		b->metric = profile_metric(b->p, metrics[i].name, metrics[i].unit);
		if (b->metric < 0 || metrics[i].build(b) < 0)
			return -ENOMEM;
	}
	if (build_events(b) < 0)
		return -ENOMEM;
	return profile_finish(b->p);
}

static int build_fold(struct profile **p)
{
	struct profile *folded = NULL;
	if (!profile_can_fold(*p))
		return 0;
	if (profile_fold(*p, &folded) < 0)
		return -ENOMEM;
	profile_free(*p);
	*p = folded;
	return 0;
}

int analysis_profile(struct analysis *a, const struct analysis_profile_options *opt,
		     struct profile **ret, struct err *err)
{
	CLEANUP(profile_free) struct profile *p = NULL;
	CLEANUP(paths_free) struct paths *paths = NULL;
	struct filter f = { 0 };

	for (size_t i = 0; i < opt->metric_count; i++) {
		int rc = metric_check(a, opt->metrics[i], err);
		if (rc < 0)
			return rc;
	}
	int rc = filter_init(&f, a, &opt->filter, err);
	if (rc < 0)
		return rc;
	if (profile_new(&p) < 0 || paths_new(&paths, a, p, opt->long_names) < 0) {
		filter_release(&f);
		return err_set(err, -ENOMEM, "cannot build the profile");
	}
	paths_detail(paths, opt->details);
	if (opt->no_inline)
		paths_leave_out_inlined(paths);
	struct build b = {
		.a = a,
		.opt = opt,
		.f = &f,
		.p = p,
		.paths = paths,
		.has_stalls = stalls_wanted(opt),
	};
	rc = build_all(&b);
	syncs_release(&b.syncs);
	free(b.idle_sums);
	host_time_free(b.host);
	free(b.group_order);
	filter_release(&f);
	if (rc < 0 || (!opt->full && build_fold(&p) < 0))
		return err_set(err, -ENOMEM, "cannot build the profile");
	*ret = TAKE(p);
	return 0;
}

int analysis_leaf_parse(const char *text, enum analysis_leaf ret[ANALYSIS_LEAF_COUNT],
			struct err *err)
{
	static const char *const names[ANALYSIS_LEAF_COUNT] = {
		[ANALYSIS_LEAF_NONE] = "",         [ANALYSIS_LEAF_FUNCTION] = "function",
		[ANALYSIS_LEAF_SOURCE] = "source", [ANALYSIS_LEAF_INSTRUCTION] = "instruction",
		[ANALYSIS_LEAF_STALL] = "stall",   [ANALYSIS_LEAF_INSN] = "insn",
		[ANALYSIS_LEAF_OFFSET] = "offset",
	};
	enum analysis_leaf order[ANALYSIS_LEAF_COUNT] = { ANALYSIS_LEAF_NONE };
	size_t count = 0;

	for (const char *at = text; *at;) {
		size_t size = strcspn(at, ",");
		int leaf = ANALYSIS_LEAF_FUNCTION;
		while (leaf < ANALYSIS_LEAF_COUNT &&
		       (strlen(names[leaf]) != size || memcmp(names[leaf], at, size)))
			leaf++;
		bool twice = false;
		for (size_t i = 0; i < count; i++)
			twice |= order[i] == (enum analysis_leaf)leaf;
		if (leaf == ANALYSIS_LEAF_COUNT || twice)
			return err_set(err, -EINVAL,
				       "bad leaf order '%s'; give function, source, instruction, "
				       "stall, insn and offset, each once at most",
				       text);
		order[count++] = (enum analysis_leaf)leaf;
		at += size + (at[size] == ',');
	}
	if (!count)
		return err_set(err, -EINVAL, "empty leaf order");
	memcpy(ret, order, sizeof(order));
	return 0;
}
