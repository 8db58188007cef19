/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts what arrives through several rings into order of time. Knows no ring and no event: an item
 * is a time, a kind and bytes.
 *
 * An event gets its time when its program starts and reaches a ring a little later, perhaps after
 * others that are younger. So what was drained is held back until everything up to that time must
 * have arrived: the loop releases up to the start of the drain before the last one.
 */
#pragma once

#include "base/span.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct order_item {
	uint64_t time_ns;
	uint32_t kind;     /* the caller's; of items with equal times the smaller kind is first */
	uint32_t size;     /* of its bytes */
	uint64_t sequence; /* of arrival */
	size_t offset;
};

/* All-zero is an empty one. */
struct order {
	VEC(struct order_item) items;
	VEC(uint8_t) bytes, spare;
	size_t next; /* first item not given out yet; those before are done */
	bool is_sorted;
	uint64_t sequence;
	uint64_t released_ns; /* time of the youngest item given out */
	uint64_t late;        /* items that arrived after a younger one had been given out */
};

void order_release(struct order *o);
/* 0 or -ENOMEM. The bytes are copied; they are given back aligned to 8. */
int order_add(struct order *o, uint64_t time_ns, uint32_t kind, const void *bytes, uint32_t size);
/* The next item of at most @until_ns; false when there is none. @ret_bytes is valid until the next
 * order_add(). */
bool order_next(struct order *o, uint64_t until_ns, struct order_item *ret, void **ret_bytes);
/* Forget what was given out; call after a run of order_next(). */
int order_compact(struct order *o);
