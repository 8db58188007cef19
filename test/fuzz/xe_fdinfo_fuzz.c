/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel says of a descriptor, as any bytes: only what says that it is the xe driver's is taken. */
#include "accel/xe_clients.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char line[] = "drm-driver:";
	struct xe_fdinfo info;

	if (xe_fdinfo_parse(span_of(data, size), &info) &&
	    !memmem(data, size, line, sizeof(line) - 1))
		abort();
	return 0;
}
