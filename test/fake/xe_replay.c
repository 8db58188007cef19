/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: xe_replay pvc|xe2|xe3p RECORDS_PER_SECOND PIECE_BYTES < COUNTS > RECORDS
 * Plays the part of an Intel GPU that is sampled: EU stall records that add up to the lines of COUNTS, each
 * "ADDRESS REASON COUNT" with the address in hexadecimal. At the rate given (0: at once), in writes of PIECE_BYTES, so
 * that records come in parts. What only a kernel can do, errors, is in test/accel/xe_stall_test.c.
 */
#include "fake/xe_records.h"

#include "base/io.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define COUNTS_MAX 65536

struct wanted {
	uint64_t address, left;
	enum xe_reason reason;
};

static size_t read_counts(struct wanted *list)
{
	size_t count = 0;
	char reason[32];

	while (count < COUNTS_MAX && scanf("%" SCNx64 " %31s %" SCNu64, &list[count].address,
					   reason, &list[count].left) == 3) {
		unsigned r = 0;
		while (r < XE_REASONS && strcmp(xe_reason_name(r), reason) != 0)
			r++;
		if (r == XE_REASONS) {
			fprintf(stderr, "xe_replay: no reason '%s'\n", reason);
			exit(2);
		}
		list[count++].reason = r;
	}
	return count;
}

static void wait_until(const struct timespec *begin, uint64_t records, uint64_t rate)
{
	struct timespec until = *begin;
	if (!rate)
		return;
	until.tv_sec += (time_t)(records / rate);
	until.tv_nsec += (long)(records % rate * 1000000000 / rate);
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

int main(int argc, char **argv)
{
	static struct wanted list[COUNTS_MAX];
	static uint8_t out[1 << 20];
	enum xe_layout layout;
	size_t filled = 0;
	uint64_t records = 0;
	struct timespec begin;

	if (argc != 4)
		return 2;
	layout = !strcmp(argv[1], "pvc")   ? XE_LAYOUT_PVC
		 : !strcmp(argv[1], "xe2") ? XE_LAYOUT_XE2
					   : XE_LAYOUT_XE3P;
	uint64_t rate = strtoull(argv[2], NULL, 10);
	size_t piece = strtoull(argv[3], NULL, 10), count = read_counts(list);
	if (!piece || piece > sizeof(out) / 2)
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	/* Each round gives a part of every count, so that they are mixed as the hardware's are. */
	for (bool is_left = true; is_left;) {
		is_left = false;
		for (size_t i = 0; i < count; i++) {
			uint8_t counts[XE_REASONS] = { 0 };
			if (!list[i].left)
				continue;
			counts[list[i].reason] = list[i].left < 100 ? (uint8_t)list[i].left : 100;
			list[i].left -= counts[list[i].reason];
			is_left = true;
			xe_records_pack(layout, list[i].address, counts, out + filled);
			filled += XE_RECORD_BYTES;
			records++;
			if (filled < piece)
				continue;
			wait_until(&begin, records, rate);
			if (io_write_all(1, out, piece) < 0)
				return 1;
			filled -= piece;
			memmove(out, out + piece, filled);
		}
	}
	return io_write_all(1, out, filled) < 0;
}
