/* SPDX-License-Identifier: Apache-2.0 */
/* The capture as events in time, each on its call path. */
#include "profile/events.h"

#include "analyze/account.h"
#include "analyze/filter.h"
#include "analyze/paths.h"
#include "analyze/scopes.h"
#include "analyze/sort.h"
#include "profile/profile.h"

#include <errno.h>

struct telling {
	struct analysis *a;
	const struct filter *f;
	const struct event_sink *sink;
	struct profile *p;
	struct paths *paths;
	struct hash threads; /* row -> track */
	struct hash queues;  /* (device, queue) -> track */
	struct hash idle;    /* device -> track */
	uint32_t tracks;
	/* While a device is accounted for: where the next idle time begins. */
	uint32_t device;
	uint64_t idle_ns;
};

static void telling_release(struct telling *t)
{
	paths_free(t->paths);
	profile_free(t->p);
	hash_release(&t->threads);
	hash_release(&t->queues);
	hash_release(&t->idle);
}
DEFINE_CLEANUP_EMBEDDED(telling_release, struct telling)

/* ---- tracks ---- */

static int tell_track(struct telling *t, struct hash *known, uint64_t key,
		      const struct event_track *track, uint32_t *ret)
{
	int rc = t->sink->track(t->sink->data, t->tracks, track);
	*ret = t->tracks++;
	return rc < 0 ? rc : hash_set(known, key, *ret);
}

static int thread_track(struct telling *t, uint32_t row, uint32_t *ret)
{
	const uint64_t *known = hash_get(&t->threads, row + 1ull);
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	const struct thread *thread = &t->a->threads.data[row];
	const struct process *process = &t->a->processes.data[thread->process];
	uint32_t node;
	if (paths_process(t->paths, thread->process, &node) < 0)
		return -ENOMEM;
	struct event_track track = {
		.kind = TRACK_THREAD,
		.pid = process->pid,
		.tid = thread->tid,
		.process = node == PROFILE_ROOT
				   ? ""
				   : profile_frame_get(t->p, profile_node(t->p, node).frame).name,
		.thread = analysis_text(t->a, thread->comm),
		.device_name = "",
	};
	return tell_track(t, &t->threads, row + 1ull, &track, ret);
}

static int device_track(struct telling *t, enum track_kind kind, uint32_t device, uint32_t queue,
			uint32_t *ret)
{
	struct hash *tracks = kind == TRACK_IDLE ? &t->idle : &t->queues;
	uint64_t key = hash_pair(device + 1u, queue);
	const uint64_t *known = hash_get(tracks, key);
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	const struct device *d = &t->a->devices.data[device];
	struct event_track track = {
		.kind = kind,
		.process = "",
		.thread = "",
		.device = d->index,
		.device_number = device,
		.device_name = analysis_text(t->a, d->text),
		.queue = t->a->queues.data[queue].handle,
	};
	return tell_track(t, tracks, key, &track, ret);
}

static int tell_event(struct telling *t, const struct event *e)
{
	return t->sink->event(t->sink->data, e);
}

/* ---- host code ---- */

static int tell_sample(struct telling *t, const struct sample *s)
{
	const struct sample_group *g = &t->a->sample_groups.data[s->group];
	bool is_span = s->flags & CPU_SAMPLE_SPAN;
	struct event e = {
		.kind = is_span ? EVENT_KIND_SPAN : EVENT_KIND_SAMPLE,
		.time_ns = s->time_ns,
		.duration_ns = is_span ? s->weight : 0,
		.value = s->weight,
	};
	if (!filter_group(t->f, g) || !filter_time(t->f, s->time_ns))
		return 0;
	int rc = paths_group(t->paths, s->group, &e.node);
	rc = rc ? rc : thread_track(t, g->thread, &e.track);
	return rc < 0 ? rc : tell_event(t, &e);
}

static uint64_t launch_flow(const struct analysis *a, const struct launch *l)
{
	if (!l)
		return EVENT_FLOW_UNKNOWN;
	if (l->flags & LAUNCH_BEFORE_WINDOW)
		return EVENT_FLOW_BEFORE;
	return EVENT_FLOW_BEFORE + 1 + (uint64_t)(l - a->launches.data);
}

static int tell_launch(struct telling *t, const struct launch *l)
{
	struct event e = {
		.kind = EVENT_KIND_LAUNCH,
		.time_ns = l->time_ns,
		.duration_ns = l->duration_ns,
		.flow = launch_flow(t->a, l),
		.value = 1,
	};
	/* The time of such a launch is made up. */
	if (l->flags & LAUNCH_BEFORE_WINDOW || !t->f->name_passes[l->name] ||
	    !filter_time(t->f, l->time_ns) ||
	    !filter_on(t->f, t->a->queues.data[l->queue].device, l->queue) ||
	    !filter_site(t->f, &t->a->sites.data[l->site]))
		return 0;
	int rc = paths_site(t->paths, l->site, &e.node);
	rc = rc ? rc : thread_track(t, l->thread, &e.track);
	return rc < 0 ? rc : tell_event(t, &e);
}

static int tell_sync(struct telling *t, const struct sync *s)
{
	struct event e = {
		.kind = EVENT_KIND_SYNC,
		.time_ns = s->time_ns,
		.duration_ns = s->duration_ns,
	};
	if (!t->f->thread_passes[s->thread] || !filter_time(t->f, s->time_ns))
		return 0;
	int rc = paths_site(t->paths, s->site, &e.node);
	rc = rc ? rc : thread_track(t, s->thread, &e.track);
	return rc < 0 ? rc : tell_event(t, &e);
}

/* All that happened in host code has a number: launches, then waits, then samples. */
static uint64_t host_time_ns(const struct analysis *a, size_t i)
{
	if (i < a->launches.len)
		return a->launches.data[i].time_ns;
	i -= a->launches.len;
	if (i < a->syncs.len)
		return a->syncs.data[i].time_ns;
	return a->samples.data[i - a->syncs.len].time_ns;
}

static int tell_host_event(struct telling *t, size_t i)
{
	const struct analysis *a = t->a;
	if (i < a->launches.len)
		return tell_launch(t, &a->launches.data[i]);
	i -= a->launches.len;
	if (i < a->syncs.len)
		return tell_sync(t, &a->syncs.data[i]);
	return tell_sample(t, &a->samples.data[i - a->syncs.len]);
}

/* Of one moment, calls come before what ran then, so that they begin the span that they are. */
static int tell_host(struct telling *t)
{
	size_t n = t->a->launches.len + t->a->syncs.len + t->a->samples.len;
	if (n > UINT32_MAX)
		return -E2BIG;
	CLEANUP_FREE uint64_t *keys = malloc((n + 1) * sizeof(*keys));
	CLEANUP_FREE uint32_t *order = malloc((n + 1) * sizeof(*order));
	if (!keys || !order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		keys[i] = host_time_ns(t->a, i);
		order[i] = (uint32_t)i;
	}
	int rc = sort_by_key(keys, order, n);
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = tell_host_event(t, order[i]);
	return rc;
}

/* ---- devices ---- */

static int tell_op(struct telling *t, const struct op *op)
{
	bool is_copy = op->kind == LAUNCH_COPY || op->kind == LAUNCH_FILL;
	struct event e = {
		.kind = is_copy ? EVENT_KIND_COPY : EVENT_KIND_WORK,
		.time_ns = op->start_ns,
		.duration_ns = op->end_ns - op->start_ns,
		.flow = launch_flow(t->a, analysis_op_launch(t->a, op)),
		.value = op->bytes,
	};
	uint32_t site;
	if (!filter_on(t->f, op->device, op->queue) || !t->f->name_passes[op->name] ||
	    !filter_time(t->f, op->start_ns))
		return 0;
	if (analysis_op_site(t->a, op, &site) < 0)
		return -ENOMEM;
	if (!filter_site(t->f, &t->a->sites.data[site]))
		return 0;
	int rc = paths_kernel(t->paths, site, op->name, &e.node);
	rc = rc ? rc : device_track(t, TRACK_QUEUE, op->device, op->queue, &e.track);
	return rc < 0 ? rc : tell_event(t, &e);
}

static int idle_gap(void *data, uint32_t thread, uint64_t begin_ns, uint64_t end_ns)
{
	struct telling *t = data;
	(void)thread;
	(void)end_ns;
	t->idle_ns = begin_ns;
	return 0;
}

/* The parts of a gap are known by length only; one after the other they fill it. */
static int idle_charge(void *data, const struct charge *charge)
{
	struct telling *t = data;
	struct event e = {
		.kind = EVENT_KIND_IDLE,
		.time_ns = t->idle_ns,
		.duration_ns = charge->ns,
	};
	if (charge->state == ACCOUNT_BUSY || !charge->ns)
		return 0;
	t->idle_ns += charge->ns;
	if (!filter_site(t->f, &t->a->sites.data[charge->site]))
		return 0;
	int rc = paths_idle(t->paths, charge->site, charge->state, &e.node);
	rc = rc ? rc : device_track(t, TRACK_IDLE, t->device, 0, &e.track);
	return rc < 0 ? rc : tell_event(t, &e);
}

static int tell_idle(struct telling *t)
{
	struct window given = { t->f->begin_ns, t->f->end_ns, WINDOW_GIVEN };
	struct account_sink sink = {
		.data = t,
		.queues = t->f->queues,
		.charge = idle_charge,
		.gap = idle_gap,
	};
	if (!t->a->ops.len || !t->a->has_timeline)
		return 0;
	struct account *acc = account_of(t->a);
	if (!acc)
		return -ENOMEM;
	for (uint32_t d = 0; d < t->a->devices.len; d++) {
		struct account_totals totals;
		if (!t->f->device_passes[d])
			continue;
		t->device = d;
		int rc = account_device(acc, d, t->f->has_time ? &given : NULL, &sink, &totals);
		if (rc < 0 && rc != -ENOENT)
			return rc;
	}
	return 0;
}

/* ---- scopes and counters ---- */

static int tell_scope(struct telling *t, const struct mark *m, uint64_t end_ns)
{
	struct event e = {
		.kind = EVENT_KIND_SCOPE,
		.time_ns = m->time_ns,
		.duration_ns = end_ns - m->time_ns,
		.name = analysis_text(t->a, m->text),
	};
	if (end_ns < m->time_ns || !t->f->thread_passes[m->thread] ||
	    !filter_time(t->f, m->time_ns))
		return 0;
	int rc = thread_track(t, m->thread, &e.track);
	return rc < 0 ? rc : tell_event(t, &e);
}

/* A scope is told when its end is known. */
static int tell_scopes(struct telling *t)
{
	const struct analysis *a = t->a;
	size_t n = a->marks.len;
	VEC(uint32_t) open = { 0 };
	CLEANUP_FREE uint32_t *order = malloc((n + 1) * sizeof(*order));
	int rc = order ? analysis_marks_order(a, order) : -ENOMEM;
	for (size_t i = 0; i < n && rc >= 0; i++) {
		const struct mark *m = &a->marks.data[order[i]];
		if (open.len && a->marks.data[open.data[0]].thread != m->thread)
			open.len = 0;
		if (m->kind == MARK_PUSH)
			rc = vec_push(&open, order[i]);
		else if (m->kind == MARK_POP && open.len)
			rc = tell_scope(t, &a->marks.data[open.data[--open.len]], m->time_ns);
		else if (m->kind == MARK_SPAN)
			rc = tell_scope(t, m, m->time_ns + m->duration_ns);
	}
	vec_release(&open);
	return rc;
}

static int tell_counters(struct telling *t)
{
	vec_for_each(&t->a->counters, c) {
		struct event e = {
			.kind = EVENT_KIND_COUNTER,
			.time_ns = c->time_ns,
			.real = c->value,
			.name = analysis_text(t->a, c->name),
		};
		uint32_t thread = 0;
		(void)idmap_get(&t->a->threads.ids, c->thread, &thread);
		if (c->time_ns > TIME_MAX_NS || !filter_time(t->f, c->time_ns) ||
		    !t->f->thread_passes[thread])
			continue;
		int rc = thread_track(t, thread, &e.track);
		rc = rc < 0 ? rc : tell_event(t, &e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int tell_all(struct telling *t)
{
	int rc = t->sink->begin(t->sink->data, t->p);
	rc = rc < 0 ? rc : tell_host(t);
	for (size_t i = 0; i < t->a->ops.len && rc >= 0; i++)
		rc = tell_op(t, &t->a->ops.data[i]);
	rc = rc < 0 ? rc : tell_idle(t);
	rc = rc < 0 ? rc : tell_scopes(t);
	rc = rc < 0 ? rc : tell_counters(t);
	return rc < 0 ? rc : t->sink->end(t->sink->data);
}

int analysis_events(struct analysis *a, const struct analysis_profile_options *opt,
		    const struct event_sink *sink, struct err *err)
{
	CLEANUP(telling_release) struct telling t = { .a = a, .sink = sink };
	struct filter f = { 0 };
	int rc = filter_init(&f, a, &opt->filter, err);
	if (rc < 0)
		return rc;
	t.f = &f;
	rc = profile_new(&t.p);
	rc = rc ? rc : paths_new(&t.paths, a, t.p, opt->long_names);
	rc = rc < 0 ? rc : tell_all(&t);
	filter_release(&f);
	return rc < 0 ? err_set(err, rc, "cannot tell what happened when") : 0;
}
