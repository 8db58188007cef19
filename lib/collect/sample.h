/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the addresses of an event's stack into frames, by the mappings of that moment, and a sample
 * into its record. Knows processes and objects; not where events come from.
 */
#pragma once

#include "bpf/events.h"
#include "capture/writer.h"
#include "collect/process.h"
#include "collect/python_merge.h"
#include "collect/unwind.h"

#include <stdint.h>

struct python;

/* Copies of stacks, in parts, whose samples follow at once; more than 16 threads do not sample in the
 * same nanosecond. */
#define SAMPLE_COPIES (16 * EVENT_COPY_PARTS)

/* Where an address of a process has been found. Programs go through the same few thousand calls all the
 * time: 40 of them with each sample of PyTorch. */
struct sample_place {
	uint64_t address;
	uint32_t process; /* of the capture; 0: free */
	uint32_t changes; /* of its mappings, by then */
	struct object *object;
	uint64_t offset;
	uint32_t hits; /* not counted among the object's yet */
	uint8_t loop;  /* enum merge_native */
};
#define SAMPLE_PLACES_SHIFT 11

struct samples {
	struct capture_writer *writer;
	struct processes *processes;
	struct objects *objects;
	struct python *python;           /* NULL: nothing is known of Python */
	const char *events[EVENT_KINDS]; /* names of those sampled on, by their number; borrowed */
	struct record_frame
		frames[EVENT_USER_FRAMES + EVENT_KERNEL_FRAMES + EVENT_PYTHON_FRAMES + 1];
	/* The user frames of a stack with Python's among them, before they are merged. */
	struct record_frame natives[EVENT_USER_FRAMES];
	uint8_t loops[EVENT_USER_FRAMES]; /* enum merge_native of each */
	struct merge_item items[MERGE_ITEMS(EVENT_USER_FRAMES, EVENT_PYTHON_FRAMES)];
	struct unwinder *unwinder; /* NULL: there are no copies */
	const struct event_copy *copies[SAMPLE_COPIES];
	uint32_t copy_count;           /* ever; the last ones are kept */
	struct unwinder_memory copied; /* the parts of one, joined */
	/* A stack that was gone on with by its copy. */
	uint64_t whole[EVENT_MAX_BYTES / 8];
	struct sample_place places[1 << SAMPLE_PLACES_SHIFT];
	uint64_t count;   /* samples taken */
	uint64_t stacks;  /* theirs, and those of launches and waits */
	uint64_t unknown; /* addresses in no known mapping */
};

/* The number of the stack in the capture, valid until its next flush. */
int sample_stack(struct samples *s, struct process *process, const struct event_stack *stack,
		 uint64_t time_ns, uint32_t *ret);
/* The copy for an event that follows; borrowed until sample_forget_copies(). */
void sample_keep_copy(struct samples *s, const struct event_copy *copy);
void sample_forget_copies(struct samples *s);
int sample_take(struct samples *s, const struct event_sample *event);
/* Bring the objects' hits up to date. */
int sample_settle(struct samples *s);
