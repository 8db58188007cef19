/* SPDX-License-Identifier: Apache-2.0 */
#include "base/radix.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 8 /* of a byte, the lowest first */

int radix_sort(struct radix_item *items, size_t count)
{
	size_t begin[DIGITS][256] = { 0 };
	struct radix_item *from = items;

	if (count < 2)
		return 0;
	CLEANUP_FREE struct radix_item *other = malloc(count * sizeof(*other));
	if (!other)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		for (unsigned digit = 0; digit < DIGITS; digit++)
			begin[digit][items[i].key >> 8 * digit & 0xff]++;
	}
	struct radix_item *to = other;
	for (unsigned digit = 0; digit < DIGITS; digit++) {
		size_t *place = begin[digit], sum = 0;
		if (place[from[0].key >> 8 * digit & 0xff] == count)
			continue; /* one that all share */
		for (unsigned i = 0; i < 256; i++) {
			size_t n = place[i];
			place[i] = sum;
			sum += n;
		}
		for (size_t i = 0; i < count; i++)
			to[place[from[i].key >> 8 * digit & 0xff]++] = from[i];
		struct radix_item *swap = from;
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, count * sizeof(*items));
	return 0;
}
