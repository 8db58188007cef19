/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/sort.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct item {
	uint64_t key;
	uint32_t number;
};

/* One counting pass on the byte at @shift; false when that byte is the same in all keys. */
static bool sort_pass(const struct item *from, struct item *to, size_t count, unsigned shift)
{
	size_t start[256] = { 0 };

	for (size_t i = 0; i < count; i++)
		start[from[i].key >> shift & 0xff]++;
	if (start[from[0].key >> shift & 0xff] == count)
		return false;
	for (size_t b = 0, at = 0; b < 256; b++) {
		size_t n = start[b];
		start[b] = at;
		at += n;
	}
	for (size_t i = 0; i < count; i++)
		to[start[from[i].key >> shift & 0xff]++] = from[i];
	return true;
}

int sort_by_key(const uint64_t *keys, uint32_t *order, size_t count)
{
	size_t i = 1;
	while (i < count && keys[order[i - 1]] <= keys[order[i]])
		i++;
	if (i >= count) /* the usual case: written in order of time */
		return 0;

	CLEANUP_FREE struct item *a = malloc(count * sizeof(*a));
	CLEANUP_FREE struct item *b = malloc(count * sizeof(*b));
	if (!a || !b)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		a[i] = (struct item){ keys[order[i]], order[i] };
	for (unsigned shift = 0; shift < 64; shift += 8) {
		if (sort_pass(a, b, count, shift)) {
			struct item *t = a;
			a = b;
			b = t;
		}
	}
	for (i = 0; i < count; i++)
		order[i] = a[i].number;
	return 0;
}
