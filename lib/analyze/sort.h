/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting by a 64-bit key in linear time, whatever the keys are; stable. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Put the @count numbers of @order into ascending order of keys[number]. Numbers with equal keys
 * keep their order. 0 or -ENOMEM (then @order is unchanged).
 */
__attribute__((warn_unused_result)) int sort_by_key(const uint64_t *keys, uint32_t *order,
						    size_t count);
