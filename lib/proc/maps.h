/* SPDX-License-Identifier: Apache-2.0 */
/* The text of /proc/PID/maps, as proc_pid_maps(5) describes it. Knows no ELF. */
#pragma once

#include "proc/lines.h"

#include <stdbool.h>

struct proc_mapping {
	uint64_t start, end; /* start < end */
	uint64_t offset;     /* in the file */
	uint64_t inode;      /* 0: no file */
	uint32_t major, minor;
	bool is_readable, is_writable, is_executable, is_shared;
	bool is_deleted; /* the kernel put " (deleted)" behind the path, which is without it here */
	struct span path; /* file, "[vdso]" and the like, or empty; borrowed from the text. A
			     newline in a name stands as \012 */
};

/* 1 and the next mapping, 0 at the end, -EBADMSG. */
int proc_maps_next(struct lines *text, struct proc_mapping *ret, struct err *err);
