/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's handle. Internal to worker.c and call.c. */
#pragma once

#include "worker/call.h"
#include "worker/fetch.h"

#include <sys/types.h>

struct worker {
	pid_t spawner; /* -1: none */
	int orders;    /* socket to it; -1: it is gone */
	int socket;    /* to the worker; -1: none is running */
	unsigned starts;
	struct debug_fetch fetch;
};

/* Make sure that a worker runs. */
int worker_ensure(struct worker *w, struct err *err);
/* End the one that runs: "died of signal 11", "was killed", into @ret. */
void worker_stop(struct worker *w, char *ret, size_t size);
