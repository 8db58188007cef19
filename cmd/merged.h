/* SPDX-License-Identifier: Apache-2.0 */
/* Several inputs, of any kind, as one capture. Knows no option. */
#pragma once

#include "base/err.h"
#include "capture/merge.h"

#include <stdbool.h>
#include <stddef.h>

struct merged_options {
	enum merge_align align;
	bool numbers_ranks;  /* those that do not say their rank get one: their place */
	const char *command; /* line that makes the capture, or NULL */
	const char *frames;  /* INFO "merge.frames": of rank, host and run, those to show */
};

/*
 * Read all and write their records, to the last one. Damage in one is told on stderr; @ret_status is
 * then CMD_FAILED, as the whole is not all there.
 */
int merged_write(struct capture_writer *w, const char *const *paths, size_t count,
		 const struct merged_options *opt, int *ret_status, struct err *err);
