/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder asks of the system for itself, and what it had before, which is what the
 * command that it starts must get. Knows nothing of recording.
 */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>

struct standing {
	struct rlimit files; /* RLIMIT_NOFILE */
	int nice;
	bool has_files, has_nice; /* was changed */
};

/*
 * As many descriptors as we may have: one is kept for each file that a target maps. And a place
 * before the programs we watch: with every CPU busy, a recorder that waits its turn for 0.3 s learns
 * of a new library after thousands of launches through it. What is not allowed is left as it is.
 */
void standing_raise(struct standing *ret);
/* In a child: as it was before. Async-signal-safe. */
void standing_restore(const struct standing *before);
