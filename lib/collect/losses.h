/* SPDX-License-Identifier: Apache-2.0 */
/* What was lost, by what and why, and its LOST records. Knows where the counts come from only as
 * numbers. */
#pragma once

#include "bpf/events.h"
#include "capture/writer.h"

#include <stddef.h>
#include <stdint.h>

/* Behind the kernel's own causes (enum loss): what the recorder could not take or keep. */
enum {
	LOSS_MAPPING_RING_FULL = LOSS_COUNT, /* side-band records */
	LOSS_MAPPING_LIMIT,                  /* more mappings than MAPPINGS_MAX */
	LOSS_OBJECT_UNOPENED,                /* files that could not be opened */
	LOSS_MALFORMED,                      /* events that we did not understand */
	LOSS_ALL_COUNT
};

struct losses {
	uint64_t now[LOSS_ALL_COUNT];      /* totals, set by whoever counts */
	uint64_t reported[LOSS_ALL_COUNT]; /* of them in LOST records already */
};

/* A LOST record for each count that has grown. */
int losses_report(struct losses *l, struct capture_writer *w, uint64_t time_ns);
/* Samples, launches and process events that are missing from the capture. */
uint64_t losses_total(const struct losses *l);

/* The words for cause @cause, below LOSS_ALL_COUNT. */
const char *loss_what(size_t cause);
const char *loss_why(size_t cause);
