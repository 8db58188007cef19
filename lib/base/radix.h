/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting by a number, in linear time: for the hundreds of thousands of functions of a library, where
 * qsort() takes longer than all else that is done with them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct radix_item {
	uint64_t key, value;
};

/* By key; of one key in the order that they had. 0 or -ENOMEM. */
__attribute__((warn_unused_result)) int radix_sort(struct radix_item *items, size_t count);
