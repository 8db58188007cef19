/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How symbols come back from the worker: numbers and a heap of strings, written by symbolize_job.c. What
 * comes may be anything, and is checked here before a byte of it is believed. Internal.
 *
 *	struct answer_head, then its arrays in the order of its counts
 */
#pragma once

#include "base/span.h"
#include "worker/worker.h"

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
	uint32_t only_cheap_lines;
	uint64_t budget_ns;
};

struct symbolize_result {
	uint8_t is_budget_spent;
	uint8_t has_debug_file;
};

/* An answer that has been checked; views into its bytes. */
struct answer {
	struct answer_head head;
	const struct answer_symbol *symbols;
	const struct answer_line *lines;
	const char *strings;
};

/*
 * 0, or -EPROTO: not an answer to @ask. @data is aligned to 8 bytes, as a mapping is, and does not change
 * any more. Afterwards each symbol is for an offset that was asked, in order and once, and lies around it;
 * each string ends, is not empty where it is a name, and has at most SYMBOL_NAME_BYTES_MAX bytes.
 */
int answer_check(struct span data, const struct worker_ask *ask, struct answer *ret);
/* Call @fn for each symbol and add to @counts. */
int answer_deliver(const struct answer *a, const struct worker_ask *ask, worker_symbol_fn fn,
		   void *data, struct worker_counts *counts);
