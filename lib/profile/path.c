/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/profile.h"

#include <errno.h>

int profile_add_path(struct profile *p, const uint32_t *frames, size_t count, int metric,
		     uint64_t value)
{
	uint32_t node = PROFILE_ROOT;
	for (size_t i = 0; i < count; i++) {
		if (profile_child(p, node, frames[i], &node) < 0)
			return -ENOMEM;
	}
	profile_add(p, node, metric, value);
	return 0;
}
