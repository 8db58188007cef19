/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as /proc/PID/maps: ranges are never empty and paths lie within the text. */
#include "proc/maps.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lines text = lines_of(span_of(data, size), "maps");
	struct proc_mapping m;
	struct err err;

	while (proc_maps_next(&text, &m, &err) > 0) {
		assert(m.start < m.end);
		assert(m.path.size <= size && m.path.data + m.path.size <= data + size);
	}
	return 0;
}
