/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/sort.h"

#include "base/cleanup.h"
#include "base/radix.h"

#include <errno.h>

int sort_by_key(const uint64_t *keys, uint32_t *order, size_t count)
{
	size_t i = 1;
	while (i < count && keys[order[i - 1]] <= keys[order[i]])
		i++;
	if (i >= count) /* the usual case: written in order of time */
		return 0;

	CLEANUP_FREE struct radix_item *items = malloc(count * sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		items[i] = (struct radix_item){ keys[order[i]], order[i] };
	if (radix_sort(items, count) < 0)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		order[i] = (uint32_t)items[i].value;
	return 0;
}
