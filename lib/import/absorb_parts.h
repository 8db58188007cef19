/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of absorb.c share. */
#pragma once

#include "import/absorb.h"

#include <string.h>

static inline bool text_same(struct span a, const struct strbuf *b)
{
	return a.size == b->len && (!a.size || !memcmp(a.data, b->data, a.size));
}

static inline bool text_is(struct span a, const char *b)
{
	return a.size == strlen(b) && !memcmp(a.data, b, a.size);
}

int absorb_lane(struct absorb *a, struct span pid, struct span tid, uint32_t *ret);

/* absorb_text.c: the metadata of launches, "key=value;...", added to @b; */
void absorb_put_text(struct strbuf *b, const char *key, struct span value);
void absorb_put_number(struct strbuf *b, const struct event *e, const char *key,
		       enum event_key number);
void absorb_put_collective(struct strbuf *b, const struct event *e);
/* a->scratch as a string; */
int absorb_scratch(struct absorb *a, uint32_t *ret);
/* and the path of a stack that comes with an event. @has_leaf: it ends in the event itself. */
int absorb_stack(struct absorb *a, const struct event *e, bool has_leaf, uint32_t *ret);

/* absorb_device.c: work of devices; what has begun (B) and what is inside of kernels. */
int absorb_device(struct absorb *a, const struct event *e, enum event_class class, uint32_t lane);
int absorb_device_begin(struct absorb *a, const struct event *e, enum event_class class,
			uint32_t lane);
int absorb_inside(struct absorb *a, const struct event *e, uint32_t lane);

/* absorb_counter.c: what allocators did, and counters. */
int absorb_memory(struct absorb *a, const struct event *e, uint32_t lane);
int absorb_counter(struct absorb *a, const struct event *e);
