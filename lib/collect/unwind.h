/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps what the kernel walks stacks by in step with the targets: which tables their executable
 * mappings have. Told that something has changed, it looks at what is mapped now, so that the order
 * in which it hears of changes does not matter. What it has not put right yet sends copies of
 * stacks; nothing is lost, and no running walk sees anything but one state or the other.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "bpf/events.h"
#include "collect/table.h"

#include <stdbool.h>
#include <stdint.h>

struct objects;
struct programs;
struct python;
struct unwinder;
struct worker;

/* All borrowed; @worker may be NULL. @python is told what is seen of interpreters. Without programs that
 * are loaded only copies are walked. */
int unwinder_open(struct unwinder **ret, const struct programs *programs, struct objects *objects,
		  struct worker *worker, struct python *python, struct err *err);
void unwinder_close(struct unwinder *u);
DEFINE_CLEANUP(unwinder_close, struct unwinder *)

/* Process @pid has mapped something at @time_ns, or is new. */
int unwinder_mark(struct unwinder *u, uint32_t pid, uint64_t time_ns);
bool unwinder_knows(const struct unwinder *u, uint32_t pid);
/* The same, if nothing is known of it yet. */
int unwinder_meet(struct unwinder *u, uint32_t pid);
/* @copy is of a stack that the tables gave out in: what it passes through is to have tables. */
int unwinder_want(struct unwinder *u, const struct event_copy *copy);
/* @pid has forked @child, which the kernel has given the same mappings. */
int unwinder_fork(struct unwinder *u, uint32_t pid, uint32_t child);
/* @pid has a new image, or is no more; the kernel has taken its mappings away. */
void unwinder_drop(struct unwinder *u, uint32_t pid, uint64_t now_ns);
/* Look at all that were marked, and tell the kernel. */
int unwinder_publish(struct unwinder *u, uint64_t now_ns);

/* What was copied of a stack. */
struct unwinder_memory {
	uint32_t size;
	uint32_t missing[EVENT_COPY_PARTS * EVENT_COPY_PIECES / 32]; /* a bit for each piece */
	uint8_t bytes[EVENT_COPY_PARTS * EVENT_COPY_BYTES];
};

/*
 * Go on with @stack where the tables gave out, by its copy @event with @memory, and what is
 * mapped in @mappings: to @ret, which has room for EVENT_USER_FRAMES user frames and what kernel frames @stack has.
 */
struct mappings;
int unwinder_continue(struct unwinder *u, const struct mappings *mappings,
		      const struct event_copy *event, const struct unwinder_memory *memory,
		      const struct event_stack *stack, struct event_stack *ret, uint64_t now_ns);

struct unwinder_stats {
	uint64_t table_bytes, build_ns;
	uint32_t tables, failed, evicted, refused;
	uint32_t spaces;       /* in use now */
	uint64_t publications; /* times that mappings were put in place */
	uint64_t refused_spaces;
	uint64_t copies, copies_ns; /* gone on with, and the time that took */
};
struct unwinder_stats unwinder_stats(const struct unwinder *u);
/* Why the @i-th file that could not be read could not; NULL: there are no more that are named. */
const char *unwinder_unreadable(const struct unwinder *u, size_t i);
