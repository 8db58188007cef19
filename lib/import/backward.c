/* SPDX-License-Identifier: Apache-2.0 */
#include "import/backward.h"

#include <errno.h>

/*
 * Sequence numbers count per thread, and "Fwd thread id" is PyTorch's own numbering of threads. The
 * lane behind such a number is that on which the most sequence numbers fit.
 */
struct votes {
	VEC(uint32_t) lanes; /* that have forward ops */
	struct hash count;   /* (forward thread, lane) -> matches */
	struct hash winner;  /* forward thread -> lane */
};
/* Threads that run forward ops; more than this are not told apart. */
#define FORWARD_LANES_MAX 64

/* (lane, sequence) as one key; both are small in any trace, and a clash only costs a link. */
static uint64_t sequence_key(uint32_t lane, uint64_t sequence)
{
	return (uint64_t)lane << 40 ^ sequence;
}

static bool is_among(const struct votes *v, uint32_t lane)
{
	vec_for_each(&v->lanes, it) {
		if (*it == lane)
			return true;
	}
	return false;
}

/* The op of each (lane, sequence) that began last: those around it carry the number as well, as it
 * is that of the node which is made next. */
static int index_forward(const struct trace *t, struct hash *h, struct votes *v)
{
	vec_for_each(&t->sequences, s) {
		const struct host_event *e = &t->host.data[s->event];
		if (s->forward_thread)
			continue;
		if (!is_among(v, e->lane) && v->lanes.len < FORWARD_LANES_MAX &&
		    vec_push(&v->lanes, e->lane) < 0)
			return -ENOMEM;
		uint64_t key = sequence_key(e->lane, s->sequence);
		const uint64_t *known = hash_get(h, key);
		if (known && t->host.data[*known].start_ns > e->start_ns)
			continue;
		if (hash_set(h, key, s->event) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int vote_for(struct votes *v, uint32_t forward_thread, uint32_t lane)
{
	uint64_t key = hash_pair(forward_thread, lane);
	const uint64_t *known = hash_get(&v->count, key);
	uint64_t count = known ? *known + 1 : 1;
	const uint64_t *best = hash_get(&v->winner, forward_thread);
	const uint64_t *most =
		best ? hash_get(&v->count, hash_pair(forward_thread, (uint32_t)*best)) : NULL;
	bool wins = !most || *most < count;

	if (hash_set(&v->count, key, count) < 0)
		return -ENOMEM;
	return wins ? hash_set(&v->winner, forward_thread, lane) : 0;
}

static int vote(const struct trace *t, const struct hash *forward, struct votes *v)
{
	vec_for_each(&t->sequences, s) {
		if (!s->forward_thread)
			continue;
		vec_for_each(&v->lanes, lane) {
			if (!hash_get(forward, sequence_key(*lane, s->sequence)))
				continue;
			if (vote_for(v, s->forward_thread, *lane) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static int link_by_sequence(struct trace *t, const struct hash *forward, const struct hash *winner)
{
	vec_for_each(&t->sequences, s) {
		if (!s->forward_thread || hash_get(&t->forward_of, s->event))
			continue;
		const uint64_t *lane = hash_get(winner, s->forward_thread);
		const uint64_t *op =
			lane ? hash_get(forward, sequence_key((uint32_t)*lane, s->sequence)) : NULL;
		if (!op || t->host.data[*op].start_ns >= t->host.data[s->event].start_ns)
			continue;
		if (hash_set(&t->forward_of, s->event, *op) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int by_sequence(struct trace *t)
{
	struct hash forward = { 0 };
	struct votes votes = { 0 };
	int rc = index_forward(t, &forward, &votes);

	if (!rc && forward.len)
		rc = vote(t, &forward, &votes);
	if (!rc)
		rc = link_by_sequence(t, &forward, &votes.winner);
	hash_release(&forward);
	vec_release(&votes.lanes);
	hash_release(&votes.count);
	hash_release(&votes.winner);
	return rc;
}

/* Where an arrow starts or ends: (lane, time) of the op that begins there. */
static uint64_t place_key(uint32_t lane, int64_t time_ns)
{
	return hash_u64((uint64_t)time_ns) ^ ((uint64_t)lane << 44);
}

static int index_ops(const struct trace *t, struct hash *h)
{
	for (size_t i = 0; i < t->host.len; i++) {
		const struct host_event *e = &t->host.data[i];
		if (e->kind != HOST_OP)
			continue;
		if (hash_set(h, place_key(e->lane, e->start_ns), i) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int link_by_flow(struct trace *t, const struct hash *ops, const struct hash *starts)
{
	vec_for_each(&t->flows, f) {
		if (!f->is_backward || f->is_start)
			continue;
		const uint64_t *start = hash_get(starts, f->id);
		const uint64_t *backward = hash_get(ops, place_key(f->lane, f->time_ns));
		if (!start || !backward)
			continue;
		const struct flow *s = &t->flows.data[*start];
		const uint64_t *forward = hash_get(ops, place_key(s->lane, s->time_ns));
		if (!forward || s->time_ns >= f->time_ns)
			continue;
		if (hash_set(&t->forward_of, *backward, *forward) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int by_flow(struct trace *t)
{
	struct hash ops = { 0 }, starts = { 0 };
	int rc = 0;

	for (size_t i = 0; i < t->flows.len && !rc; i++) {
		const struct flow *f = &t->flows.data[i];
		if (f->is_backward && f->is_start)
			rc = hash_set(&starts, f->id, i);
	}
	if (!rc && starts.len)
		rc = index_ops(t, &ops);
	if (!rc && starts.len)
		rc = link_by_flow(t, &ops, &starts);
	hash_release(&ops);
	hash_release(&starts);
	return rc;
}

int backward_link(struct trace *t)
{
	int rc = by_flow(t);
	return rc < 0 ? rc : by_sequence(t);
}
