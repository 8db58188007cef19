/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of what devices did, and of what the host did while they were idle. */
#include "analyze/build.h"

#include "analyze/attribute.h"
#include "analyze/costs.h"
#include "analyze/host_time.h"
#include "analyze/power.h"

#include <errno.h>
#include <string.h>

bool has_ops(const struct analysis *a)
{
	return a->ops.len;
}

bool has_wall(const struct analysis *a)
{
	return a->ops.len && a->has_timeline;
}

bool has_launches(const struct analysis *a)
{
	return a->launches.len;
}

bool has_device_samples(const struct analysis *a)
{
	return a->device_samples.len;
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

static int idle_host_gap(void *data, uint32_t thread, uint64_t begin_ns, uint64_t end_ns)
{
	struct build *b = data;
	if (thread && b->f->thread_passes[thread])
		host_time_within(b->host, thread, begin_ns, end_ns, b->idle_sums);
	return 0;
}

/* Time by what the devices did, and on the way what the host did while they were idle. */
int build_wall(struct build *b)
{
	struct account_sink sink = { .data = b, .charge = charge_wall };
	if (build_wants(b, "idle-host")) {
		b->idle_sums = calloc(b->a->sample_groups.len + 1, sizeof(*b->idle_sums));
		if (!b->idle_sums || host_time_new(&b->host, b->a) < 0)
			return -ENOMEM;
		sink.gap = idle_host_gap;
	}
	return build_account(b, &sink);
}

bool has_energy(const struct analysis *a)
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

int build_energy(struct build *b)
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

int build_idle_host(struct build *b)
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

int build_device_time(struct build *b)
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

int build_launches(struct build *b)
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

int build_device_samples(struct build *b)
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

bool has_idle_host(const struct analysis *a)
{
	return has_wall(a) && (has_cpu_time(a) || has_blocked(a));
}
