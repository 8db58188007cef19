/* SPDX-License-Identifier: Apache-2.0 */
/* What the two sides of unwinding say to each other. Internal to lib/worker. */
#pragma once

#include "unwind/copy.h"
#include "unwind/table.h"
#include "worker/protocol.h"

/* Of a reply whose data are the table's cells. */
struct unwind_table_result {
	uint64_t base;
	uint32_t pages, rows;
	struct unwind_stats stats;
};

/* Of a call whose input are UNWIND_REG_COUNT registers, the mappings and the stack; the reply's data
 * are struct unwind_frame. */
struct unwind_frames_args {
	uint32_t mappings, max;
	uint64_t stack_address, stack_size;
	uint32_t missing[UNWIND_COPY_PIECES / 32];
};

_Static_assert(sizeof(struct unwind_table_result) <= WORKER_ARGS_BYTES, "fits into a reply");
_Static_assert(sizeof(struct unwind_frames_args) <= WORKER_ARGS_BYTES, "fits into a call");
