/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EU stall records as the hardware writes them, of made-up stalls over addresses of which few are hot. Packed bit by
 * bit, so that the reader, which loads words, is checked against another way.
 */
#pragma once

#include "accel/xe_stall.h"

#include <string.h>

struct xe_records {
	enum xe_layout layout;
	uint32_t addresses;
	uint64_t base; /* of the first address, as the reader gives it */
	uint64_t random;
};

static inline void xe_records_init(struct xe_records *g, enum xe_layout layout, uint32_t addresses,
				   uint64_t seed)
{
	*g = (struct xe_records){
		.layout = layout,
		.addresses = addresses,
		.base = layout == XE_LAYOUT_XE3P ? 0x8000fffd0000 : 0xfffd0000,
		.random = seed * 0x9e3779b97f4a7c15 + 1,
	};
}

/* xorshift64*, S. Vigna */
static inline uint64_t xe_records_random(struct xe_records *g)
{
	g->random ^= g->random >> 12;
	g->random ^= g->random << 25;
	g->random ^= g->random >> 27;
	return g->random * 0x2545f4914f6cdd1d;
}

static inline void xe_records_put(uint8_t *record, unsigned bit, unsigned width, uint64_t value)
{
	for (unsigned i = 0; i < width; i++)
		record[(bit + i) / 8] |= (uint8_t)((value >> i & 1) << (bit + i) % 8);
}

static inline void xe_records_pack(enum xe_layout layout, uint64_t address,
				   const uint8_t counts[XE_REASONS],
				   uint8_t record[XE_RECORD_BYTES])
{
	static const uint8_t pvc[] = { XE_ACTIVE,   XE_OTHER, XE_CONTROL, XE_PIPESTALL, XE_SEND,
				       XE_DIST_ACC, XE_SBID,  XE_SYNC,    XE_INST_FETCH };
	static const uint8_t xe2[] = {
		XE_TDR,      XE_OTHER, XE_CONTROL, XE_PIPESTALL,  XE_SEND,
		XE_DIST_ACC, XE_SBID,  XE_SYNC,    XE_INST_FETCH, XE_ACTIVE
	};
	bool is_pvc = layout == XE_LAYOUT_PVC;
	unsigned fields = is_pvc ? sizeof(pvc) : sizeof(xe2);
	unsigned ip_bits = layout == XE_LAYOUT_XE3P ? 61 : 29;

	memset(record, 0, XE_RECORD_BYTES);
	xe_records_put(record, 0, ip_bits, address >> 3);
	for (unsigned i = 0; i < fields; i++)
		xe_records_put(record, ip_bits + 8 * i, 8, counts[is_pvc ? pvc[i] : xe2[i]]);
	if (!is_pvc) {
		xe_records_put(record, ip_bits + 80, 3, address >> 3 & 7); /* ex_id */
		xe_records_put(record, ip_bits + 83, 1, 1);
	}
}

/* The next record, and what it counts. Which address it is, from 0. */
static inline uint32_t xe_records_next(struct xe_records *g, uint8_t record[XE_RECORD_BYTES],
				       uint8_t counts[XE_REASONS])
{
	uint64_t random = xe_records_random(g);
	/* The square of what is even: half of the records fall on a quarter of the addresses. */
	uint64_t part = (random & 0xffff) * (random & 0xffff) >> 16;
	uint32_t place = (uint32_t)(part * g->addresses >> 16);

	random >>= 16;
	for (unsigned r = 0; r < XE_REASONS; r++) {
		/* Mostly few, now and then the largest number. PVC has one reason less. */
		uint8_t count = (uint8_t)(random >> 4 * r & 15);
		counts[r] = count == 15 ? 255 : count > 9 ? count : 0;
		if (r == XE_TDR && g->layout == XE_LAYOUT_PVC)
			counts[r] = 0;
	}
	xe_records_pack(g->layout, g->base + 8ull * place, counts, record);
	return place;
}
