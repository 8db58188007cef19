/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol lists as text: /proc/kallsyms, and the perf maps that JIT compilers write
 * (/tmp/perf-PID.map; tools/perf/Documentation/jit-interface.txt in the kernel's sources).
 */
#pragma once

#include "proc/lines.h"

struct proc_symbol {
	uint64_t address;
	char type;          /* as nm prints it */
	struct span name;   /* borrowed from the text */
	struct span module; /* without brackets; empty: the kernel itself */
};

/* 1 and the next symbol of /proc/kallsyms, 0 at the end, -EBADMSG. All addresses are 0 when
 * kptr_restrict hides them. */
int proc_kallsyms_next(struct lines *text, struct proc_symbol *ret, struct err *err);

struct perf_map_entry {
	uint64_t start, size; /* start + size does not overflow; size is not 0 */
	struct span name;     /* never empty, may hold spaces */
};

/*
 * 1 and the next entry, 0 at the end. Lines that are none are skipped and counted in *@skipped
 * (may be NULL): the file is a stranger's, and its last line may be half written.
 */
int perf_map_next(struct lines *text, struct perf_map_entry *ret, size_t *skipped);
