/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small texts about one process: /proc/PID/status, stat, cgroup (proc(5), cgroups(7)).
 * Borrowed spans point into the text given.
 */
#pragma once

#include "proc/lines.h"

/* Namespaces can be nested 32 deep (MAX_PID_NS_LEVEL in the kernel). */
#define PROC_NS_LEVELS 33

struct proc_status {
	struct span name; /* as the kernel escapes it: \n and \\ */
	uint32_t tgid, parent;
	uint32_t tracer;   /* who ptraces it; 0: nobody */
	uint32_t uid, gid; /* effective */
	uint32_t ns_pid;   /* process id as the process itself sees it */
	char state;        /* 'R', 'S', 'Z', ... */
	uint64_t effective_capabilities;
};

/* -EBADMSG when Name, Tgid, PPid or Uid is missing or not well formed. */
int proc_status_parse(struct span text, const char *what, struct proc_status *ret, struct err *err);

/* Of process or thread @pid, without its name. -ENOENT or -ESRCH: it is gone. */
int proc_status_read(uint32_t pid, struct proc_status *ret);

struct proc_stat {
	struct span comm; /* raw: may hold anything, also ")" */
	char state;
	uint64_t start_ticks; /* after boot, in units of sysconf(_SC_CLK_TCK) */
};

int proc_stat_parse(struct span text, const char *what, struct proc_stat *ret, struct err *err);

/* The path of the process in the cgroup v2 hierarchy ("0::PATH"), else in the first one listed;
 * empty when there is none. */
struct span proc_cgroup_path(struct span text);
