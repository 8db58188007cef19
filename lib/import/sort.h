/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts numbers of things. Traces are written in a few long sorted runs, and a merge of the runs
 * that are there takes time by how many there are, n * log(runs); stable.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether @a has to come before @b; false when they are equal. */
typedef bool (*sort_before)(const void *data, uint32_t a, uint32_t b);

/* 0 or -ENOMEM. */
int sort_numbers(uint32_t *numbers, size_t count, sort_before before, const void *data);
