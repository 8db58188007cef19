/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void order_release(struct order *o)
{
	vec_release(&o->items);
	vec_release(&o->bytes);
	vec_release(&o->spare);
}

/* Append to @bytes, rounded up so that the next one is aligned for the structs inside. */
static int append(struct order *o, const void *bytes, uint32_t size)
{
	size_t padded = ((size_t)size + 7) & ~(size_t)7;

	if (vec_reserve(&o->bytes, o->bytes.len + padded) < 0)
		return -ENOMEM;
	if (padded)
		memset(o->bytes.data + o->bytes.len + padded - 8, 0, 8);
	if (size)
		memcpy(o->bytes.data + o->bytes.len, bytes, size);
	o->bytes.len += padded;
	return 0;
}

int order_add(struct order *o, uint64_t time_ns, uint32_t kind, const void *bytes, uint32_t size)
{
	struct order_item item = {
		.time_ns = time_ns,
		.kind = kind,
		.size = size,
		.sequence = o->sequence,
		.offset = o->bytes.len,
	};

	if (vec_reserve(&o->items, o->items.len + 1) < 0 || append(o, bytes, size) < 0)
		return -ENOMEM;
	o->items.data[o->items.len++] = item;
	o->sequence++;
	o->is_sorted = false;
	if (time_ns < o->released_ns)
		o->late++;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct order_item *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->sequence < y->sequence ? -1 : 1;
}

bool order_next(struct order *o, uint64_t until_ns, struct order_item *ret, void **ret_bytes)
{
	if (!o->is_sorted && o->items.len) {
		qsort(o->items.data + o->next, o->items.len - o->next, sizeof(*o->items.data),
		      compare);
		o->is_sorted = true;
	}
	if (o->next == o->items.len || o->items.data[o->next].time_ns > until_ns)
		return false;
	*ret = o->items.data[o->next++];
	*ret_bytes = o->bytes.data + ret->offset;
	if (ret->time_ns > o->released_ns)
		o->released_ns = ret->time_ns;
	return true;
}

static size_t padded_size(const struct order_item *item)
{
	return ((size_t)item->size + 7) & ~(size_t)7;
}

int order_compact(struct order *o)
{
	size_t left = o->items.len - o->next, size = 0;

	/* Not for each of a few, again and again: what is held back is as much as what has gone. */
	if (o->next < 2 * left)
		return 0;
	for (size_t i = o->next; i < o->items.len; i++)
		size += padded_size(&o->items.data[i]);
	if (vec_reserve(&o->spare, size) < 0)
		return -ENOMEM;
	o->spare.len = 0;
	for (size_t i = 0; i < left; i++) {
		struct order_item item = o->items.data[o->next + i];
		size_t padded = padded_size(&item);
		if (padded)
			memcpy(o->spare.data + o->spare.len, o->bytes.data + item.offset, padded);
		item.offset = o->spare.len;
		o->items.data[i] = item;
		o->spare.len += padded;
	}
	__typeof__(o->spare) swap = o->bytes;
	o->bytes = o->spare;
	o->spare = swap;
	o->items.len = left;
	o->next = 0;
	return 0;
}
