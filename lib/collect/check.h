/* SPDX-License-Identifier: Apache-2.0 */
/* What can be recorded on this machine, and of a process, by trying it; and who can mend how what cannot. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum check_state {
	CHECK_YES,
	CHECK_PARTLY, /* recording works, with less in it */
	CHECK_NO,     /* not to be had */
	CHECK_ABSENT, /* there is nothing of the kind here, which may be as it should be */
};

enum check_who {
	CHECK_YOU,
	CHECK_ROOT,
	CHECK_OWNER, /* of the machine: who boots it, or started the container */
};

struct check {
	const char *group; /* "machine", "runtime", "process" */
	const char *name;
	enum check_state state;
	char found[320]; /* what is there */
	char mend[320];  /* a command or an action; "" when there is nothing to mend */
	enum check_who who;
};

typedef void (*check_fn)(void *data, const struct check *check);

/* How recording works. */
enum check_verdict {
	CHECK_BY_BPF,
	CHECK_BY_PERF, /* CPU samples of the caller's own programs only */
	CHECK_BY_NOTHING,
	CHECK_NOT_THIS, /* the process asked about is not the caller's to record */
};

/* Call @fn for each thing looked at: of the machine and, unless it is 0, of process @pid, the runtimes
 * that it has mapped instead of those of the machine. -ESRCH: there is no such process. */
int check_all(uint32_t pid, check_fn fn, void *data, enum check_verdict *ret, struct err *err);

/* For the files of check: fill in. */
#define FOUND(c, ...) snprintf((c)->found, sizeof((c)->found), __VA_ARGS__)
#define MEND(c, by, ...) \
	((c)->who = (by), (void)snprintf((c)->mend, sizeof((c)->mend), __VA_ARGS__))

/* check_runtime.c: each runtime that process @pid has mapped, or the machine has installed. */
void check_runtimes(uint32_t pid, check_fn fn, void *data);
/* check_gpu.c: can EU stalls of Intel GPUs be sampled? */
void check_intel(struct check *c);
/* check_nvidia.c: the driver, whether instructions may be sampled, and who else may be at that. */
void check_nvidia(struct check *c);
void check_nvidia_samples(struct check *c);
void check_nvidia_tools(struct check *c);
