/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples added up by instruction and reason until they are told: CUPTI gives millions of records a
 * second, of a few thousand places. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What they are samples of; all of it together. */
struct sums_key {
	uint64_t module, offset;
	uint32_t function, reason; /* as in inject_name */
	uint32_t device, correlation;
};

/* One more @count of @key: 0; -1: there is no room before sums_tell(). */
int sums_add(const struct sums_key *key, uint32_t count);
/* Give all to @tell and forget them. */
void sums_tell(void (*tell)(void *data, const struct sums_key *key, uint32_t count), void *data);
