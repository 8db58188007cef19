/* SPDX-License-Identifier: Apache-2.0 */
/* The name of the file to write, out of a pattern. */
#pragma once

#include <stdint.h>

/* Of a distributed job, from what launches it (Open MPI, PMI, Slurm, torchrun); -1: none. */
int64_t output_rank(void);

/*
 * @pattern with %h (host), %p (our process id), %r (rank; 0 without one), %t (time, as
 * 20260131T235959) and %% replaced, malloc'ed; NULL when there is another %, or no memory.
 */
char *output_name(const char *pattern);
