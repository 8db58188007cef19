/* SPDX-License-Identifier: Apache-2.0 */
/* A library that split loads while it is being recorded. */
#include <stdint.h>

uint64_t late_burn(uint64_t rounds, uint64_t x);

uint64_t late_burn(uint64_t rounds, uint64_t x)
{
	/* gcc gives a function that calls nothing no frame, whatever its options say. */
	__asm__ volatile("" ::"r"(__builtin_frame_address(0)));
	for (uint64_t i = 0; i < rounds; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}
