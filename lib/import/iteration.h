/* SPDX-License-Identifier: Apache-2.0 */
/* The number in the name of an annotation around one iteration: "ProfilerStep#6", "train step 12". */
#pragma once

#include "base/span.h"

#include <stdint.h>

/*
 * The number + 1, and in @ret_base (may be NULL) the name without it, which is the same for all
 * iterations; 0 and the whole name when it is not one.
 */
uint64_t iteration_parse(struct span name, struct span *ret_base);
