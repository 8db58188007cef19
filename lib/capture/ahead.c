/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ahead.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

int ahead_init(struct ahead *a, int fd, const char *name, struct err *err)
{
	struct stat st;

	*a = (struct ahead){ .lock = PTHREAD_MUTEX_INITIALIZER,
			     .changed = PTHREAD_COND_INITIALIZER };
	a->is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	return source_init(&a->source, fd, name, err);
}

static void stop(struct ahead *a)
{
	if (!a->is_running)
		return;
	pthread_mutex_lock(&a->lock);
	a->is_stopping = true;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	a->is_running = false;
}

void ahead_release(struct ahead *a)
{
	stop(a);
	/* The source has one of the buffers. */
	for (int i = 0; i < AHEAD_SLOTS; i++) {
		if (a->slots[i].data != a->source.data)
			free(a->slots[i].data);
	}
	source_release(&a->source);
}

/* ---- the thread ---- */

/* Whether chunk @n has a slot now that nobody uses. */
static bool wait_for_slot(struct ahead *a, uint64_t n)
{
	pthread_mutex_lock(&a->lock);
	while (n - a->done >= AHEAD_SLOTS && !a->is_stopping)
		pthread_cond_wait(&a->changed, &a->lock);
	bool is_free = !a->is_stopping;
	pthread_mutex_unlock(&a->lock);
	return is_free;
}

static void *read_ahead(void *data)
{
	struct ahead *a = data;
	int rc = 1;

	for (uint64_t n = 0; rc > 0 && wait_for_slot(a, n); n++) {
		struct ahead_slot *slot = &a->slots[n % AHEAD_SLOTS];
		a->source.data = slot->data;
		rc = slot->rc = source_next(&a->source);
		slot->seen = a->source;
		pthread_mutex_lock(&a->lock);
		a->filled = n + 1;
		pthread_cond_signal(&a->changed);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

/* Without it everything works, too. */
static void start(struct ahead *a)
{
	a->is_file = false;
	a->slots[0].data = a->source.data;
	a->slots[1].data = malloc(CHUNK_INFLATED_MAX);
	if (a->slots[1].data)
		a->is_running = !pthread_create(&a->thread, NULL, read_ahead, a);
}

/* ---- who uses it ---- */

static int take(struct ahead *a)
{
	const struct ahead_slot *slot = &a->slots[a->taken % AHEAD_SLOTS];

	pthread_mutex_lock(&a->lock);
	a->done = a->taken;
	pthread_cond_signal(&a->changed);
	while (a->filled == a->taken)
		pthread_cond_wait(&a->changed, &a->lock);
	pthread_mutex_unlock(&a->lock);
	/* Behind the last one nothing comes. */
	a->taken += slot->rc > 0;
	a->now = slot->seen;
	return slot->rc;
}

int ahead_next(struct ahead *a)
{
	/* Many files are one chunk: those are not worth a thread. */
	if (a->is_file && a->now.size)
		start(a);
	if (a->is_running)
		return take(a);
	int rc = source_next(&a->source);
	a->now = a->source;
	return rc;
}

int ahead_end(struct ahead *a)
{
	uint64_t end = a->now.in.offset;

	stop(a);
	int rc = source_end(&a->source);
	a->now.damage.has_end = true;
	a->now.extra_offset = end;
	a->now.extra_bytes = a->source.extra_offset - end + a->source.extra_bytes;
	return rc;
}

void ahead_spoiled(struct ahead *a)
{
	if (!a->spoiled.chunks++)
		a->spoiled.first_offset = a->now.offset;
	a->spoiled.skipped_bytes += a->now.stored_bytes;
}

void ahead_describe(const struct ahead *a, const char *name, struct capture_damage *ret)
{
	struct source all = a->now;
	struct capture_damage *d = &all.damage;

	if (a->spoiled.chunks && (!d->chunks || a->spoiled.first_offset < d->first_offset))
		d->first_offset = a->spoiled.first_offset;
	d->chunks += a->spoiled.chunks;
	d->skipped_bytes += a->spoiled.skipped_bytes;
	source_describe(&all, name, ret);
}
