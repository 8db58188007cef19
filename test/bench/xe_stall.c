/* SPDX-License-Identifier: Apache-2.0 */
/* usage: bench_xe_stall: EU stall records decoded and added up in a second of a core, over 4,096 addresses of which few are hot,
 * with a flush each 10 ms as recording has it. */
#include "fake/xe_records.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define RECORDS   (1u << 17)
#define ADDRESSES 4096u
#define ROUNDS    400u
/* What the largest device gives in 10 ms: 1.1 million a second of each of 64 cores. */
#define A_FLUSH (700u << 10)

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int on_count(void *data, uint64_t address, enum xe_reason reason, uint64_t count)
{
	(void)address;
	(void)reason;
	*(uint64_t *)data += count;
	return 0;
}

static int measure(const char *name, enum xe_layout layout)
{
	CLEANUP_FREE uint8_t *data = malloc((size_t)RECORDS * XE_RECORD_BYTES);
	CLEANUP(xe_stalls_free) struct xe_stalls *s = NULL;
	struct xe_records gen;
	uint8_t counts[XE_REASONS];
	uint64_t sum = 0, since = 0;

	if (!data || xe_stalls_new(&s, layout) < 0)
		return 1;
	xe_records_init(&gen, layout, ADDRESSES, 1);
	for (size_t i = 0; i < RECORDS; i++)
		xe_records_next(&gen, data + i * XE_RECORD_BYTES, counts);
	double begin = seconds();
	for (unsigned round = 0; round < ROUNDS; round++) {
		/* In pieces, as read() gives them. */
		for (size_t i = 0; i < RECORDS; i += 32768) {
			if (xe_stalls_add(s, span_of(data + i * XE_RECORD_BYTES,
						     32768 * XE_RECORD_BYTES)) < 0)
				return 1;
			since += 32768;
			if (since >= A_FLUSH) {
				xe_stalls_flush(s, on_count, &sum);
				since = 0;
			}
		}
	}
	double took = seconds() - begin;
	xe_stalls_flush(s, on_count, &sum);
	printf("%s: %.1f million records/s, %" PRIu64 " stalls counted\n", name,
	       RECORDS * ROUNDS / took / 1e6, sum);
	return 0;
}

int main(void)
{
	return measure("pvc", XE_LAYOUT_PVC) | measure("xe2", XE_LAYOUT_XE2) |
	       measure("xe3p", XE_LAYOUT_XE3P);
}
