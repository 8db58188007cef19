/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/lasting.h"

#include "accel/process_index.h"
#include "accel/told.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

/* Texts are mostly code: the largest programs have some 100 MB of it. */
#define TEXT_MAX_BYTES (256u << 20)
/* Handles that live at the same time, and those whose places were not used again. */
#define EVENTS_MAX (1u << 19)
/* Those that were told anew leave gaps, which are closed when they are more than the rest. */
#define GAPS_MIN 256
/* Many times what it takes to begin another recording and to end the one before. */
#define KEEP_NS 60000000000ull

struct lasting_event {
	uint64_t key;
	struct accel_event event; /* its text is ours */
	bool is_gap;
};

struct lasting_process {
	struct hash index; /* key -> events */
	VEC(struct lasting_event) events;
	size_t gaps;
	uint64_t ended_ns; /* 0: it lives */
};

struct lasting {
	struct process_index processes;
	size_t events, text_bytes;
	uint64_t dropped;
};

struct lasting *lasting_new(void)
{
	return calloc(1, sizeof(struct lasting));
}

static void process_free(void *state)
{
	struct lasting_process *p = state;

	if (!p)
		return;
	vec_for_each(&p->events, it)
		free((void *)it->event.text);
	vec_release(&p->events);
	hash_release(&p->index);
	free(p);
}

void lasting_free(struct lasting *l)
{
	if (!l)
		return;
	process_index_release(&l->processes, process_free);
	free(l);
}

static void make_gap(struct lasting *l, struct lasting_process *p, struct lasting_event *at)
{
	l->events--;
	l->text_bytes -= at->event.text_size;
	free((void *)at->event.text);
	at->event.text = NULL;
	at->is_gap = true;
	p->gaps++;
}

static int close_gaps(struct lasting_process *p)
{
	size_t kept = 0;
	int rc = 0;

	if (p->gaps < GAPS_MIN || p->gaps * 2 < p->events.len)
		return 0;
	vec_for_each(&p->events, it) {
		if (it->is_gap)
			continue;
		p->events.data[kept] = *it;
		rc = rc ? rc : hash_set(&p->index, it->key, kept);
		kept++;
	}
	p->events.len = kept;
	p->gaps = 0;
	return rc;
}

/* @e with what is behind @key from now on. */
static int put(struct lasting *l, struct lasting_process *p, const struct accel_event *e,
	       uint64_t key)
{
	struct lasting_event event = { .key = key, .event = *e };
	uint64_t *known = hash_get(&p->index, key);

	if (known)
		make_gap(l, p, &p->events.data[*known]);
	if (l->events >= EVENTS_MAX || e->text_size > TEXT_MAX_BYTES - l->text_bytes) {
		l->dropped++;
		hash_remove(&p->index, key);
		return 0;
	}
	event.event.text = NULL;
	if (e->text_size) {
		char *copy = malloc(e->text_size);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, e->text, e->text_size);
		event.event.text = copy;
	}
	if (vec_push(&p->events, event) < 0) {
		free((void *)event.event.text);
		return -ENOMEM;
	}
	l->events++;
	l->text_bytes += e->text_size;
	int rc = hash_set(&p->index, key, p->events.len - 1);
	return rc < 0 ? rc : close_gaps(p);
}

/* Told again, because of another recorder. It keeps its place before what was built on it. */
static bool is_known(const struct lasting_process *p, const struct accel_event *e, uint64_t key)
{
	uint64_t *index = hash_get(&p->index, key);
	const struct accel_event *known = index ? &p->events.data[*index].event : NULL;

	return known && known->text_size == e->text_size &&
	       memcmp(known->text, e->text, e->text_size) == 0;
}

/* Each message of a batch by itself: what else it tells is of that moment. */
static int put_messages(struct lasting *l, struct lasting_process *p, const struct accel_event *e,
			uint64_t key)
{
	struct span batch = span_of(e->text, e->text_size);
	struct told_message message;
	uint64_t identity;
	int rc = 0;

	while (rc == 0 && told_next(&batch, &message)) {
		struct accel_event part = *e;
		if (!told_lasts(&message, &identity))
			continue;
		part.text = (const char *)message.whole.data;
		part.text_size = message.whole.size;
		if (!is_known(p, &part, key ^ identity))
			rc = put(l, p, &part, key ^ identity);
	}
	return rc;
}

int lasting_keep(struct lasting *l, const struct accel_event *e)
{
	uint64_t key = hash_u64((uintptr_t)e->site);
	struct lasting_process *p;

	if (!e->site->lasts)
		return 0;
	p = process_index_get(&l->processes, e->process);
	if (!p)
		p = process_index_add(&l->processes, e->process, sizeof(*p));
	if (!p)
		return -ENOMEM;
	if (e->site->lasts == LASTS_BY_MESSAGE)
		return put_messages(l, p, e, key);
	return put(l, p, e,
		   key ^ hash_u64(e->site->lasts == LASTS_BY_THREAD
					  ? e->tid
					  : e->value[e->site->lasts - 1]));
}

/* One that ended long before @time_ns; 0: there is none. */
static uint32_t find_ended(const struct lasting *l, uint64_t time_ns)
{
	hash_for_each(&l->processes.hash, slot) {
		const struct lasting_process *p = (const void *)(uintptr_t)slot->value;
		if (p->ended_ns && p->ended_ns + KEEP_NS < time_ns)
			return (uint32_t)slot->key;
	}
	return 0;
}

void lasting_exited(struct lasting *l, uint32_t process, uint64_t time_ns)
{
	struct lasting_process *p = process_index_get(&l->processes, process);

	if (!p)
		return;
	p->ended_ns = time_ns;
	while ((process = find_ended(l, time_ns))) {
		p = process_index_take(&l->processes, process);
		vec_for_each(&p->events, it)
			if (!it->is_gap)
				make_gap(l, p, it);
		process_free(p);
	}
}

int lasting_each(const struct lasting *l, int (*take)(void *data, const struct accel_event *e),
		 void *data)
{
	process_index_for_each(&l->processes, struct lasting_process, p)
		vec_for_each(&p->events, it) {
			int rc = it->is_gap ? 0 : take(data, &it->event);
			if (rc < 0)
				return rc;
		}
	return 0;
}

uint64_t lasting_dropped(const struct lasting *l)
{
	return l->dropped;
}
