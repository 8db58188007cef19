/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc tells of a process that is alive, as strings for its record. Keeps nothing. */
#pragma once

#include <stdint.h>

struct process_facts {
	char comm[64];
	char *command; /* arguments joined by spaces; NULL: not known. Free with the release. */
	char *cgroup;
	uint32_t parent_pid, ns_pid;
	uint64_t start_ns; /* CLOCK_MONOTONIC; 0: not known */
};

/* As much as can be read: 0, or a negative errno when the process is not there at all. */
int process_facts_read(uint32_t pid, struct process_facts *ret);
void process_facts_release(struct process_facts *f);

/* A command line, and the cgroup's path, malloc'ed; NULL when they cannot be read or are empty. */
char *process_command(uint32_t pid);
char *process_cgroup(uint32_t pid);
