/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>

int vec_grow(void *data, size_t *cap, size_t want, size_t size)
{
	size_t grown = *cap ? *cap : 16;
	while (grown < want) {
		if (grown > SIZE_MAX / 2)
			return -ENOMEM;
		grown *= 2;
	}

	size_t bytes;
	if (__builtin_mul_overflow(grown, size, &bytes))
		return -ENOMEM;

	void *old;
	memcpy(&old, data, sizeof(old));
	void *fresh = realloc(old, bytes);
	if (!fresh)
		return -ENOMEM;
	memcpy(data, &fresh, sizeof(fresh));
	*cap = grown;
	return 0;
}
