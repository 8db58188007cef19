/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinding by the worker: tables from call frame information, and what only libunwind can say of a
 * copied stack. Both read files of the target's; what comes back is checked.
 */
#pragma once

#include "unwind/copy.h"
#include "unwind/table.h"
#include "worker/worker.h"

struct worker_table {
	struct unwind_table rows; /* lies in @memory */
	struct unwind_stats stats;
	struct span memory;
};

/*
 * The unwind table of the ELF file @fd, which is called @name in messages. -ENOENT: it has no unwind
 * information; other errors as worker_symbolize() and unwind_table_build() have them.
 */
int worker_unwind_table(struct worker *w, int fd, const char *name, struct worker_table *ret,
			struct err *err);
void worker_table_release(struct worker_table *t);
DEFINE_CLEANUP_EMBEDDED(worker_table_release, struct worker_table)

struct worker_unwind_ask {
	const struct unwind_space *space; /* of whose objects only the tables' bases are used */
	const struct unwind_copy *copy;   /* with registers */
	/* A descriptor of object @number of the space, which is closed here; negative errno. */
	int (*open)(void *data, uint32_t number);
	void *data;
};

/* unwind_libunwind_walk() in the worker: at most @max frames from the innermost on; their number. */
int worker_unwind_frames(struct worker *w, const struct worker_unwind_ask *ask,
			 struct unwind_frame *frames, size_t max, struct err *err);
