/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/walk.h"

#include <errno.h>
#include <time.h>

/* The clock is read once in so many DIEs, about every 10 µs. */
#define STEPS_PER_CLOCK 64

int walk_step(struct walk *w)
{
	if (!w->deadline_ns || ++w->steps % STEPS_PER_CLOCK)
		return 0;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	return now_ns < w->deadline_ns ? 0 : -ETIME;
}

int walk_sibling(Dwarf_Die *die)
{
	Dwarf_Off before = dwarf_dieoffset(die);
	int rc = dwarf_siblingof(die, die);
	if (rc == 0 && dwarf_dieoffset(die) <= before)
		return -EBADMSG;
	return rc;
}

int walk_ranges(const struct walk *w, Dwarf_Die *die,
		int (*fn)(void *data, uint64_t low, uint64_t high), void *data)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		/* Linkers set addresses in discarded functions to 0, or 1 in range lists. */
		if (low >= high || (low <= 1 && !w->is_zero_code))
			continue;
		int rc = fn(data, low, high);
		if (rc < 0)
			return rc;
	}
	return 0;
}
