/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict parsing of numbers that people and /proc write: the whole text must be the number, or it
 * is -EINVAL; out of range is -ERANGE. Results are untouched on failure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

int parse_u64(const char *text, int base, uint64_t *ret);
int parse_u32(const char *text, int base, uint32_t *ret);
/* The number that starts at *@text (digits of @base, no sign, no prefix); moves *@text behind it
 * and never beyond @end. For lines made of several numbers. */
int parse_digits(const char **text, const char *end, int base, uint64_t *ret);
/* "64M": bytes, with an optional B, K, M or G (powers of 1024), as perf writes sizes. */
int parse_size(const char *text, uint64_t *ret_bytes);
/* "1.5", "10s", "200ms", "5m", "1h": a duration; a bare number is seconds. */
int parse_duration(const char *text, uint64_t *ret_ns);
