/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the addresses of an event's stack into frames, by the mappings of that moment, and a sample
 * into its record. Knows processes and objects; not where events come from.
 */
#pragma once

#include "bpf/events.h"
#include "capture/writer.h"
#include "collect/process.h"

#include <stdint.h>

struct samples {
	struct capture_writer *writer;
	struct processes *processes;
	struct objects *objects;
	struct record_frame frames[EVENT_USER_FRAMES + EVENT_KERNEL_FRAMES];
	uint64_t count;   /* samples taken */
	uint64_t unknown; /* addresses in no known mapping */
};

/* The number of the stack in the capture, valid until its next flush. */
int sample_stack(struct samples *s, struct process *process, const struct event_stack *stack,
		 uint64_t time_ns, uint32_t *ret);
int sample_take(struct samples *s, const struct event_sample *event);
