/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/account.h"

#include "analyze/power.h"
#include "analyze/sort.h"
#include "analyze/waits.h"

#include <errno.h>

const char *account_state_name(enum account_state state)
{
	static const char *const names[ACCOUNT_STATE_COUNT] = {
		[ACCOUNT_BUSY] = "busy",
		[ACCOUNT_LATE] = "host late",
		[ACCOUNT_FLIGHT] = "launch in flight",
		[ACCOUNT_SYNC] = "sync",
		[ACCOUNT_COPY] = "copy",
		[ACCOUNT_BLOCKED] = "blocked",
		[ACCOUNT_BEFORE] = "before first",
		[ACCOUNT_AFTER] = "after last",
		[ACCOUNT_UNKNOWN] = "unknown",
	};
	return names[state];
}

struct account {
	struct analysis *a;
	struct waits waits;
	struct power *power; /* NULL: nothing is known of it */
	uint32_t *ops;       /* ops by device, then start */
	size_t *first;       /* by device row: its first one in `ops`; one more at the end */
};

/* One device's run. */
struct run {
	struct account *acc;
	const struct account_sink *sink;
	struct account_totals totals;
	uint32_t device;
	double watts; /* of the time that is being charged */
};

/* An op cut to the window. */
struct part {
	uint64_t start_ns, end_ns;
	uint32_t op;
};

struct parts {
	VEC(struct part) list;
};

static int account_new(struct account **ret, struct analysis *a)
{
	CLEANUP(account_free) struct account *acc = calloc(1, sizeof(*acc));
	if (!acc)
		return -ENOMEM;
	acc->a = a;
	acc->ops = malloc((a->ops.len + 1) * sizeof(*acc->ops));
	acc->first = calloc(a->devices.len + 1, sizeof(*acc->first));
	if (!acc->ops || !acc->first || waits_init(&acc->waits, a) < 0 ||
	    power_new(&acc->power, a) < 0)
		return -ENOMEM;

	vec_for_each(&a->ops, op)
		acc->first[op->device]++;
	for (size_t d = 0, at = 0; d <= a->devices.len; d++) {
		size_t count = acc->first[d];
		acc->first[d] = at;
		at += count;
	}
	for (size_t i = 0; i < a->ops.len; i++)
		acc->ops[acc->first[a->ops.data[i].device]++] = (uint32_t)i;
	/* Each now points behind its last: move them back by one device. */
	memmove(acc->first + 1, acc->first, a->devices.len * sizeof(*acc->first));
	acc->first[0] = 0;
	*ret = TAKE(acc);
	return 0;
}

struct account *account_of(struct analysis *a)
{
	if (!a->account && account_new(&a->account, a) < 0)
		return NULL;
	return a->account;
}

void account_free(struct account *acc)
{
	if (!acc)
		return;
	waits_release(&acc->waits);
	power_free(acc->power);
	free(acc->ops);
	free(acc->first);
	free(acc);
}

static int run_charge(struct run *run, enum account_state state, uint32_t op, uint32_t site,
		      uint64_t ns)
{
	const struct analysis *a = run->acc->a;
	const struct launch *l = op ? analysis_op_launch(a, &a->ops.data[op - 1]) : NULL;
	struct charge charge = {
		.state = state,
		.op = op,
		.site = site,
		.thread = l ? l->thread : 0,
		.ns = ns,
		.watts = run->watts,
	};
	if (!ns)
		return 0;
	run->totals.ns[state] += ns;
	return run->sink->charge(run->sink->data, &charge);
}

/* What is charged from here on is a part of this time. */
static void run_time(struct run *run, uint64_t begin_ns, uint64_t end_ns)
{
	if (run->acc->power)
		run->watts = power_mean(run->acc->power, run->device, begin_ns, end_ns);
}

static int run_busy(struct run *run, uint32_t op, uint64_t ns)
{
	struct analysis *a = run->acc->a;
	uint32_t site;
	run_time(run, a->ops.data[op].start_ns, a->ops.data[op].end_ns);
	if (analysis_op_site(a, &a->ops.data[op], &site) < 0)
		return -ENOMEM;
	return run_charge(run, ACCOUNT_BUSY, op + 1, site, ns);
}

/* What no stack is to blame for stands under the process whose work is nearest. */
static int process_site(struct run *run, uint32_t op, uint32_t *ret)
{
	struct analysis *a = run->acc->a;
	struct site site = {
		.process = analysis_op_process(a, &a->ops.data[op]),
		.kind = SITE_PROCESS,
	};
	return analysis_site(a, &site, ret);
}

static int tell_gap(struct run *run, uint32_t op, uint64_t begin_ns, uint64_t end_ns)
{
	if (end_ns - begin_ns > run->totals.longest_gap_ns)
		run->totals.longest_gap_ns = end_ns - begin_ns;
	const struct analysis *a = run->acc->a;
	const struct launch *l = analysis_op_launch(a, &a->ops.data[op]);
	if (!run->sink->gap)
		return 0;
	return run->sink->gap(run->sink->data, l ? l->thread : 0, begin_ns, end_ns);
}

static int run_gap(struct run *run, uint64_t begin_ns, uint64_t end_ns, uint32_t op)
{
	struct analysis *a = run->acc->a;
	const struct launch *l = analysis_op_launch(a, &a->ops.data[op]);
	uint64_t length = end_ns - begin_ns;
	uint32_t site;

	run_time(run, begin_ns, end_ns);
	if (begin_ns == run->totals.window.begin_ns && run->totals.window.source == WINDOW_GIVEN) {
		if (process_site(run, op, &site) < 0)
			return -ENOMEM;
		return run_charge(run, ACCOUNT_BEFORE, op + 1, site, length);
	}
	if (analysis_op_site(a, &a->ops.data[op], &site) < 0)
		return -ENOMEM;
	if (!l || !analysis_launch_is_seen(a, l))
		return run_charge(run, ACCOUNT_UNKNOWN, op + 1, site, length);

	uint64_t launched = l->time_ns < begin_ns ? begin_ns
			    : l->time_ns > end_ns ? end_ns
						  : l->time_ns;
	uint64_t ns[ACCOUNT_STATE_COUNT] = { 0 };
	uint64_t waited = waits_within(&run->acc->waits, l->thread, begin_ns, launched, ns);
	ns[ACCOUNT_LATE] = launched - begin_ns - waited;
	ns[ACCOUNT_FLIGHT] = end_ns - launched;
	int rc = 0;
	for (int state = ACCOUNT_LATE; state <= ACCOUNT_BLOCKED && rc >= 0; state++)
		rc = run_charge(run, state, op + 1, site, ns[state]);
	return rc;
}

/*
 * How much of its time each of @n parts, which overlap in a chain, is charged.
 *
 * While only one runs the time is its own. While several run, a moment dt gives each dt * d / S,
 * d its duration and S the sum of all that run: so with A = integral of dt / S, a part is due
 * d * (A at its end - A at its start). A is kept in units of 2^-64; d < 2^62 and the difference is
 * at most 1, so the product fits. The shares are rounded by rounding their running sum, and the last
 * gets what is left, as A is a little less than it should be: they add up to the nanoseconds there are.
 */
static int chain_share(const struct part *parts, size_t n, uint64_t *ret_ns)
{
	typedef unsigned __int128 wide;
	CLEANUP_FREE uint64_t *ends = malloc(n * sizeof(*ends));
	CLEANUP_FREE uint32_t *order = malloc(n * sizeof(*order));
	CLEANUP_FREE wide *share = calloc(n, sizeof(*share));
	if (!ends || !order || !share)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		ends[i] = parts[i].end_ns;
		order[i] = (uint32_t)i;
		ret_ns[i] = 0;
	}
	if (sort_by_key(ends, order, n) < 0)
		return -ENOMEM;

	wide total = 0, area = 0;
	uint64_t active = 0, now = parts[0].start_ns, shared = 0;
	size_t only = 0; /* XOR of the active ones' numbers: that of the one when there is one */
	for (size_t s = 0, e = 0; e < n;) {
		bool is_start = s < n && parts[s].start_ns <= ends[order[e]];
		size_t i = is_start ? s : order[e];
		uint64_t at = is_start ? parts[i].start_ns : parts[i].end_ns;
		uint64_t duration = parts[i].end_ns - parts[i].start_ns;

		if (active == 1) {
			ret_ns[only] += at - now;
		} else if (at > now) {
			area += ((wide)(at - now) << 64) / total;
			shared += at - now;
		}
		now = at;
		only ^= i;
		if (is_start) {
			share[i] = area;
			total += duration;
			active++;
			s++;
		} else {
			share[i] = duration * (area - share[i]);
			total -= duration;
			active--;
			e++;
		}
	}

	wide sum = (wide)1 << 63; /* rounds to nearest */
	uint64_t given = 0;
	for (size_t i = 0; i < n; i++) {
		sum += share[i];
		uint64_t until = i + 1 < n ? (uint64_t)(sum >> 64) : shared;
		ret_ns[i] += until - given;
		given = until;
	}
	return 0;
}

/* A stretch of time without a gap: @n parts, each starting before those before it have ended. */
static int run_chain(struct run *run, const struct part *parts, size_t n)
{
	if (n == 1)
		return run_busy(run, parts->op, parts->end_ns - parts->start_ns);

	CLEANUP_FREE uint64_t *ns = malloc(n * sizeof(*ns));
	if (!ns || chain_share(parts, n, ns) < 0)
		return -ENOMEM;
	int rc = 0;
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = run_busy(run, parts[i].op, ns[i]);
	return rc;
}

static void count_part(struct run *run, const struct part *part, uint64_t busy_until_ns)
{
	const struct analysis *a = run->acc->a;
	const struct op *op = &a->ops.data[part->op];
	const struct launch *l = analysis_op_launch(a, op);

	run->totals.ops++;
	run->totals.clipped += op->start_ns != part->start_ns || op->end_ns != part->end_ns;
	if (!l || !analysis_launch_is_seen(a, l))
		return;
	if (l->time_ns < busy_until_ns && run->totals.ops > 1)
		run->totals.queued++;
	else
		run->totals.launched_idle++;
}

static int run_parts(struct run *run, const struct parts *parts)
{
	const struct part *p = parts->list.data;
	uint64_t until = run->totals.window.begin_ns;
	int rc = 0;

	for (size_t i = 0, next; i < parts->list.len && rc >= 0; i = next) {
		uint64_t end = p[i].start_ns;
		if (end > until)
			rc = tell_gap(run, p[i].op, until, end);
		if (end > until && rc >= 0)
			rc = run_gap(run, until, end, p[i].op);
		count_part(run, &p[i], until);
		for (next = i; next < parts->list.len && p[next].start_ns <= end; next++) {
			if (next > i)
				count_part(run, &p[next], end);
			if (p[next].end_ns > end)
				end = p[next].end_ns;
		}
		if (rc >= 0)
			rc = run_chain(run, p + i, next - i);
		until = end;
	}
	if (rc < 0 || until >= run->totals.window.end_ns)
		return rc;
	uint32_t site, last = vec_last(&parts->list)->op;
	rc = tell_gap(run, last, until, run->totals.window.end_ns);
	if (rc < 0)
		return rc;
	if (process_site(run, last, &site) < 0)
		return -ENOMEM;
	run_time(run, until, run->totals.window.end_ns);
	return run_charge(run, ACCOUNT_AFTER, 0, site, run->totals.window.end_ns - until);
}

/* The device's work inside the window, still in order of start. */
static int parts_cut(const struct account *acc, uint32_t device, const struct window *w,
		     const bool *queues, struct parts *ret)
{
	for (size_t i = acc->first[device]; i < acc->first[device + 1]; i++) {
		const struct op *op = &acc->a->ops.data[acc->ops[i]];
		struct part part = { op->start_ns, op->end_ns, acc->ops[i] };
		bool is_moment = part.start_ns == part.end_ns;
		if (queues && !queues[op->queue])
			continue;
		if (part.end_ns < w->begin_ns || part.start_ns > w->end_ns)
			continue;
		if (!is_moment && (part.end_ns == w->begin_ns || part.start_ns == w->end_ns))
			continue;
		if (part.start_ns < w->begin_ns)
			part.start_ns = w->begin_ns;
		if (part.end_ns > w->end_ns)
			part.end_ns = w->end_ns;
		if (vec_push(&ret->list, part) < 0)
			return -ENOMEM;
	}
	return 0;
}

int account_device(struct account *acc, uint32_t device, const struct window *given,
		   const struct account_sink *sink, struct account_totals *ret)
{
	struct run run = { .acc = acc, .sink = sink, .device = device };
	struct parts parts = { 0 };
	int rc;

	const uint32_t *ops = acc->ops + acc->first[device];
	size_t count = acc->first[device + 1] - acc->first[device];

	if (given) {
		run.totals.window = *given;
		window_narrow(acc->a, ops, count, &run.totals.window);
	} else if ((rc = window_find(acc->a, ops, count, &run.totals.window)) < 0) {
		return rc;
	}
	rc = parts_cut(acc, device, &run.totals.window, sink->queues, &parts);
	if (!rc && !parts.list.len)
		rc = -ENOENT;
	if (!rc)
		rc = run_parts(&run, &parts);
	vec_release(&parts.list);
	if (rc >= 0)
		*ret = run.totals;
	return rc < 0 ? rc : 0;
}
