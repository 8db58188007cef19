/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes over the sockets. Both ends are the same binary, forked, so layout is no concern; but what a
 * worker sends is as hostile as the file that it reads, and is checked here and in call.c.
 *
 *	recorder            worker
 *	CALL op, args  ──►              with descriptors: the object, its input, a memfd for the answer
 *	               ◄──  WANT_FILE   it could use a debug file
 *	FILE           ──►              the file, or why not
 *	               ◄──  REPLY       status, size of what was written to the memfd
 */
#pragma once

#include "symbolize/elf_symbols.h"

#include <stdint.h>

enum worker_message_type {
	WORKER_CALL = 1,
	WORKER_REPLY,
	WORKER_WANT_FILE,
	WORKER_FILE,
};

#define WORKER_ARGS_BYTES 128
#define WORKER_NAME_BYTES 1024 /* of an object, for messages; longer ones are cut */

/* One size for all: SOCK_SEQPACKET keeps messages whole, and 5 KiB a call is nothing. */
struct worker_message {
	uint32_t type;
	uint32_t op;                      /* CALL */
	int32_t status;                   /* REPLY, FILE: 0 or negative errno */
	uint32_t attempt;                 /* WANT_FILE: how many candidates did not fit */
	uint64_t size;                    /* REPLY: bytes in the memfd */
	uint8_t args[WORKER_ARGS_BYTES];  /* CALL, REPLY: the op's own */
	char text[WORKER_NAME_BYTES];     /* CALL: name; REPLY: error text */
	struct elf_symbols_wanted wanted; /* WANT_FILE */
};

/* In a CALL, in this order. */
enum worker_call_fd {
	WORKER_FD_OBJECT,
	WORKER_FD_INPUT,
	WORKER_FD_OUTPUT,
	WORKER_FD_COUNT
};

/* Between the recorder and the process that workers are forked from. */
enum worker_order_type {
	WORKER_ORDER_START = 1, /* with the new worker's socket */
	WORKER_ORDER_STOP,      /* kill it and say what it died of */
};

struct worker_order {
	uint32_t type;
	int32_t status; /* answer: START: 0 or negative errno; STOP: as waitpid() gives it, -1: none */
};

/*
 * Send @size bytes with @count descriptors; 0 or negative errno.
 */
int worker_send(int socket, const void *data, size_t size, const int *fds, size_t count);
/*
 * Wait for a message of exactly @size bytes with exactly @count descriptors, or as many as *@count
 * where that is less. 0; -EPIPE: the other end is gone; -ETIMEDOUT; -EPROTO: anything else, after
 * closing what came. @timeout_ns 0: for ever.
 */
int worker_recv(int socket, void *data, size_t size, int *fds, size_t *count, uint64_t timeout_ns);
