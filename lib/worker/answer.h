/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How symbols come back from the worker: numbers and a heap of strings, written by symbolize_job.c and
 * checked by symbolize.c. Internal.
 *
 *	struct answer_head, then its arrays in the order of its counts
 */
#pragma once

#include <stdint.h>

struct answer_head {
	uint64_t symbol_count, line_count, string_bytes;
};

struct answer_symbol {
	uint64_t start, size;
	uint32_t offset_index; /* in what was asked; ascending */
	uint32_t line_count;   /* of the lines, from where the symbol before ends */
};

struct answer_line {
	uint32_t name; /* where the string begins, NUL behind it */
	uint32_t file; /* UINT32_MAX: not known */
	uint32_t line, column;
};

/* What goes with the call and the reply. */
struct symbolize_args {
	uint32_t kind; /* enum worker_kind */
	uint32_t want_lines;
	uint64_t budget_ns;
};

struct symbolize_result {
	uint8_t is_budget_spent;
	uint8_t has_debug_file;
};
