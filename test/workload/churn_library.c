/* SPDX-License-Identifier: Apache-2.0 */
/* One of the libraries of churn.c: FRAME_BYTES differ, and so do the places of everything. */
#include <stdint.h>

uint64_t churn_work(unsigned depth, uint64_t seed);

#if FRAME_BYTES > 1000
/* Shifts what follows. */
__attribute__((noinline, used)) static uint64_t shift(uint64_t seed)
{
	for (unsigned i = 0; i < 7; i++)
		seed = seed * 31 + (seed >> 7);
	return seed;
}
#endif

uint64_t churn_work(unsigned depth, uint64_t seed)
{
	volatile unsigned char frame[FRAME_BYTES];

	frame[seed % FRAME_BYTES] = (unsigned char)depth;
	if (depth)
		seed = churn_work(depth - 1, seed + depth) + 1;
	else
		for (unsigned i = 0; i < 300; i++)
			seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed + frame[seed % FRAME_BYTES];
}
