/* SPDX-License-Identifier: Apache-2.0 */
/* The profile: every metric's values put where their call paths end. */
#include "analyze/build.h"
#include "analyze/host_time.h"
#include "analyze/memory_sums.h"
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

bool build_lost_any(const struct analysis *a, const char *what)
{
	vec_for_each(&a->lost, l) {
		if (l->count && !strcmp(analysis_text(a, l->what), what))
			return true;
	}
	return false;
}

/* What was lost has a frame of its own; nobody knows whose it was, so a filter leaves it out. */
int build_lost(struct build *b, const char *what)
{
	const struct analysis_filter *f = &b->opt->filter;
	uint32_t node;
	if (f->pid || f->tid || f->comm || f->device || f->kernel || f->time || f->step ||
	    f->stream || f->scope || !build_lost_any(b->a, what))
		return 0;
	if (paths_missing(b->paths, "[lost]", &node) < 0)
		return -ENOMEM;
	vec_for_each(&b->a->lost, l) {
		if (!strcmp(analysis_text(b->a, l->what), what))
			build_add(b, node, l->count);
	}
	return 0;
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

bool build_wants(const struct build *b, const char *name)
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
