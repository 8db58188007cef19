/* SPDX-License-Identifier: Apache-2.0 */
/* What a process gives up before it reads a stranger's file. Internal to lib/worker. */
#pragma once

#include "base/err.h"

/* Writable memory that one worker may take beyond what it starts with. The largest need seen is libdw
 * on a compressed 700 MB debug section. */
#define WORKER_MEMORY_BYTES (2ull << 30)
/* Addresses, mapped files included, which are mapped twice: debug files have up to 4 GiB. */
#define WORKER_ADDRESS_BYTES (16ull << 30)
/* One answer: four million symbols, each with some lines. */
#define WORKER_REPLY_BYTES_MAX (512ull << 20)
/* Our sockets, and per call the object, its input and output, a debug file and dwz's. */
#define WORKER_FILES_MAX 16

/*
 * For the process that workers are forked from: become nobody, without groups, privileges or a way back;
 * in a session of its own (a Ctrl-C is for the recorder); limits; every descriptor closed but @keep_fd.
 * Without root there is nobody to become, and the rest is done.
 */
int sandbox_drop(int keep_fd, struct err *err);
/* For the worker: from here on only system calls that need no path, no socket and no other process. */
int sandbox_close(struct err *err);
