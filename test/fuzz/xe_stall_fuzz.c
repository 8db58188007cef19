/* SPDX-License-Identifier: Apache-2.0 */
/* EU stall records of any bytes: what leaves is what came in, counted bit by bit. */
#include "accel/xe_stall.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_count(void *data, uint64_t address, enum xe_reason reason, uint64_t count)
{
	uint64_t *sum = data;
	if (address & 7 || reason >= XE_REASONS || !count)
		abort();
	*sum += count;
	return 0;
}

static uint64_t field(const uint8_t *record, unsigned bit)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < 8; i++)
		value |= (uint64_t)(record[(bit + i) / 8] >> (bit + i) % 8 & 1) << i;
	return value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned first[] = { 29, 29, 61 }, count[] = { 9, 10, 10 };
	CLEANUP(xe_stalls_free) struct xe_stalls *s = NULL;
	uint64_t sum = 0, expected = 0;

	if (!size)
		return 0;
	enum xe_layout layout = data[0] % 3;
	struct span records = span_of(data + 1, size - 1);
	if (xe_stalls_new(&s, layout) < 0 || xe_stalls_add(s, records) < 0)
		return 0;
	for (size_t at = 0; at + XE_RECORD_BYTES <= records.size; at += XE_RECORD_BYTES) {
		const uint8_t *r = records.data + at;
		unsigned flag = first[layout] + 83;
		if (layout != XE_LAYOUT_PVC && !(r[flag / 8] >> flag % 8 & 1))
			continue;
		for (unsigned i = 0; i < count[layout]; i++)
			expected += field(r, first[layout] + 8 * i);
	}
	xe_stalls_flush(s, on_count, &sum);
	struct xe_stalls_stats stats = xe_stalls_stats(s);
	if (sum != expected || stats.records + stats.damaged != records.size / XE_RECORD_BYTES)
		abort();
	return 0;
}
