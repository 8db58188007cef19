/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's side of one call to the worker, whatever the op. Internal to lib/worker and its tests. */
#pragma once

#include "worker/job.h"
#include "worker/worker.h"

struct worker_call {
	uint32_t op;
	const char *name; /* of the object, for messages */
	int fd;           /* the object's */
	const void *args; /* at most WORKER_ARGS_BYTES; NULL: none */
	size_t args_size;
	struct span input;
	uint64_t timeout_ns; /* how long it may take, without what open() takes */
	/* Open the @attempt-th file that @wanted can mean: a descriptor that is closed here, or negative
	 * errno. NULL: there are none. What the worker wants is checked to be well-formed text. */
	int (*open)(void *data, const struct elf_symbols_wanted *wanted, uint32_t attempt);
	void *data;
};

struct worker_reply {
	struct span data;                /* what the op wrote; no one can change it any more */
	uint8_t args[WORKER_ARGS_BYTES]; /* and its few numbers: unchecked */
};

/*
 * 0; -EPROTO: the worker died, hung or broke the protocol, and is gone; -EPIPE: and there will be no
 * other; else what the op returned. @ret is to be released after 0.
 */
int worker_call(struct worker *w, const struct worker_call *call, struct worker_reply *ret,
		struct err *err);
void worker_reply_release(struct worker_reply *r);
DEFINE_CLEANUP_EMBEDDED(worker_reply_release, struct worker_reply)

/* What a reply held makes no sense: end the worker that made it, and return -EPROTO with a text. */
int worker_distrust(struct worker *w, const char *name, struct err *err);

/* worker_start() with further ops, from WORKER_OP_TEST on, for tests: one with the name of an op of ours is
 * run in its place. */
int worker_start_with(struct worker **ret, const struct worker_op *extra, size_t count,
		      struct err *err);
/* How often a worker had to be started again. */
unsigned worker_restarts(const struct worker *w);
