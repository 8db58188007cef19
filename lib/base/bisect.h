/* SPDX-License-Identifier: Apache-2.0 */
/* Searching what is in order. */
#pragma once

#include <stddef.h>

/*
 * How many of @count things, the first ones, meet @condition, an expression of the index @i:
 *
 *	size_t n = bisect(list.len, i, list.data[i].start <= address);
 *	return n ? &list.data[n - 1] : NULL;
 */
#define bisect(count, i, condition)                                             \
	({                                                                      \
		size_t bisect_low = 0, bisect_high = (count);                   \
		while (bisect_low < bisect_high) {                              \
			size_t i = bisect_low + (bisect_high - bisect_low) / 2; \
			if (condition)                                          \
				bisect_low = i + 1;                             \
			else                                                    \
				bisect_high = i;                                \
		}                                                               \
		bisect_low;                                                     \
	})
