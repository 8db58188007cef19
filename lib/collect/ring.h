/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring buffer that our BPF programs fill. Checks that an event is as long as its type says and
 * hands it on; what it means is for others.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"

#include "bpf/events.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct programs;
struct ring;

/* @size bytes that begin with @event, which is @event->size; borrowed. Negative: stop. */
typedef int (*ring_fn)(void *data, const struct event_header *event);

int ring_open(struct ring **ret, const struct programs *programs, ring_fn fn, void *data,
	      struct err *err);
void ring_close(struct ring *r);
DEFINE_CLEANUP(ring_close, struct ring *)

/* Readable when the ring is a quarter full. */
int ring_fd(const struct ring *r);
/* Give all that is there to the function: how many, or the negative value it returned. */
int ring_drain(struct ring *r);
/* Events whose size or content was wrong: a mistake of ours, counted and left out. */
uint64_t ring_malformed(const struct ring *r);

/* Is an event of @size bytes what its header says? The stack of those that have one lies inside. */
bool event_is_valid(const void *bytes, size_t size);
/* The stack of a valid event, or NULL. */
const struct event_stack *event_stack(const struct event_header *event);
