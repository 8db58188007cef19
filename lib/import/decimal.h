/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decimal text to integers, exactly. Traces write times in microseconds with up to 19 significant
 * digits, which a double does not hold (its 53 bits end at 16).
 */
#pragma once

#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The number in @text ("-12", "1712195495519689.047", "1e3") times 10^@scale, rounded half away
 * from zero. -EINVAL: not a number; -ERANGE: does not fit.
 */
int decimal_parse(struct span text, int scale, int64_t *ret);

/* Microseconds as nanoseconds. */
static inline int decimal_us(struct span text, int64_t *ret_ns)
{
	return decimal_parse(text, 3, ret_ns);
}

/* A whole number that may be written as a string, in decimal or as 0x...; fractions are cut. */
int decimal_u64(struct span text, uint64_t *ret);

/* For what is no time and no count: counters, rates. */
int decimal_double(struct span text, double *ret);
