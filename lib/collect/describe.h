/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc tells of a process that is alive, as strings for its record. Keeps nothing. */
#pragma once

#include "base/cleanup.h"

#include <stdint.h>

struct process_facts {
	char comm[64];
	char *command; /* arguments joined by spaces; NULL: not known. Free with the release. */
	char *cgroup;
	uint32_t parent_pid, ns_pid, uid;
	uint64_t start_ns; /* CLOCK_MONOTONIC; 0: not known */
};

/* As much as can be read: 0, or a negative errno when the process is not there at all. */
int process_facts_read(uint32_t pid, struct process_facts *ret);
void process_facts_release(struct process_facts *f);
DEFINE_CLEANUP_EMBEDDED(process_facts_release, struct process_facts)
