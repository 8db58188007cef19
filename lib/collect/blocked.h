/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that wait: a BLOCKED record for each wait that has ended, and at the end of the recording
 * for those that have not. Knows stacks as numbers; what is waited for is for readers.
 */
#pragma once

#include "base/hash.h"
#include "bpf/events.h"
#include "collect/sample.h"

#include <stdint.h>

struct blocked {
	struct samples *samples; /* borrowed */
	struct hash waits;       /* tid -> struct wait * */
	uint32_t epoch;          /* of the writer, whose stacks the waits have */
	uint64_t count, ns;      /* records and their time, that of others included */
	uint64_t others_ns;      /* of it, time without stacks */
};

void blocked_release(struct blocked *b);

int blocked_begin(struct blocked *b, const struct event_block *event);
int blocked_end(struct blocked *b, const struct event_resume *event);
/* A thread that ends does not wait any more. */
void blocked_forget(struct blocked *b, uint32_t tid);
/* Those that wait still have waited until @time_ns. */
int blocked_finish(struct blocked *b, uint64_t time_ns);
