/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source whose next chunk is read and inflated by a thread of its own while the one at hand is in
 * use: a tenth of the time that reading a capture takes. Only of files: reading a pipe ahead would
 * wait for what may never come.
 */
#pragma once

#include "capture/source.h"

#include <pthread.h>

/* One in use, and the next one. */
#define AHEAD_SLOTS 2

struct ahead_slot {
	uint8_t *data;
	int rc;
	struct source seen; /* as the source was when it had read this chunk */
};

struct ahead {
	struct source now; /* at the chunk at hand, whatever has been read since */
	struct capture_damage spoiled;
	bool is_file, is_running;

	struct source source; /* the thread's while it runs */
	struct ahead_slot slots[AHEAD_SLOTS];
	uint64_t taken; /* chunks, in slots */
	pthread_t thread;
	/* Under @lock: */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t filled, done; /* chunks so far */
	bool is_stopping;
};

/* As those of a source. */
int ahead_init(struct ahead *a, int fd, const char *name, struct err *err);
void ahead_release(struct ahead *a);
int ahead_next(struct ahead *a);
int ahead_end(struct ahead *a);
void ahead_spoiled(struct ahead *a);
void ahead_describe(const struct ahead *a, const char *name, struct capture_damage *ret);
