/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the worker: one call, and the table of what a worker can be called for. To add an op: a number
 * in worker_op_number, a line in the table of job.c, a file NAME_job.c that runs in the worker, and a file
 * that makes the call (worker/call.h) and checks the answer.
 */
#pragma once

#include "base/err.h"
#include "base/span.h"
#include "worker/protocol.h"

enum worker_op_number {
	WORKER_OP_SYMBOLIZE,
	WORKER_OP_UNWIND_TABLE,
	WORKER_OP_UNWIND_FRAMES,
	WORKER_OP_COUNT,
	WORKER_OP_TEST = 1000, /* from here on: those given to worker_start_with() */
};

struct worker_job {
	const char *name; /* of the object, for messages */
	int fd;           /* the object */
	int input_fd;     /* what the call's input was written to */
	int output_fd;    /* where the answer goes: worker_job_write() */
	int socket;
	const void *args;                 /* the call's, WORKER_ARGS_BYTES */
	uint8_t reply[WORKER_ARGS_BYTES]; /* the answer's */
	uint64_t written;
};

struct worker_op {
	const char *name;
	/* 0 or negative errno with a text; what is written in that case is dropped. */
	int (*run)(struct worker_job *job, struct err *err);
};

/* The call's input in a malloc'ed buffer, at most @max bytes. */
int worker_job_input(const struct worker_job *job, size_t max, void **ret, size_t *ret_size,
		     struct err *err);
int worker_job_write(struct worker_job *job, const void *data, size_t size, struct err *err);
/* Ask the recorder for a debug file, the @attempt-th that could be meant: a descriptor that the job
 * must close, or -ENOENT. */
int worker_job_open(struct worker_job *job, const struct elf_symbols_wanted *wanted,
		    uint32_t attempt);

/* Serve calls until the other end of @socket is closed. */
void worker_serve(int socket, const struct worker_op *extra, size_t extra_count);

/* The ops. */
int worker_symbolize_job(struct worker_job *job, struct err *err);
int worker_unwind_table_job(struct worker_job *job, struct err *err);
int worker_unwind_frames_job(struct worker_job *job, struct err *err);
