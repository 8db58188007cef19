/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's handle. Internal to worker.c and call.c. */
#pragma once

#include "worker/call.h"
#include "worker/fetch.h"

#include <sys/types.h>

/* Whose files cost what, by who owns them and where they are: containers have devices of their own. */
struct worker_owner {
	uint64_t device, uid;
	unsigned deaths;
	uint64_t slow_ns;
};

/* Of more, the last one stands for all. */
#define WORKER_OWNERS_MAX 64

struct worker {
	pid_t spawner; /* -1: none */
	int orders;    /* socket to it; -1: it is gone */
	int socket;    /* to the worker; -1: none is running */
	unsigned starts;
	struct worker_owner owners[WORKER_OWNERS_MAX];
	size_t owner_count;
	struct worker_owner *owner; /* of what was asked last; NULL: nothing yet */
	struct debug_fetch fetch;
};

/* Make sure that a worker runs. */
int worker_ensure(struct worker *w, struct err *err);
/* End the one that runs: "died of signal 11", "was killed", into @ret. */
void worker_stop(struct worker *w, char *ret, size_t size);
