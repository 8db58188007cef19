/* SPDX-License-Identifier: Apache-2.0 */
/* What host code is about, by the names of functions and files. Private to this module. */
#pragma once

#include "analyze/tables.h"

#include <assert.h>

enum topic {
	TOPIC_LOADER, /* of input data */
	TOPIC_COMPILE,
	TOPIC_ALLOCATE,
	TOPIC_LOCK,
	TOPIC_HINT_COUNT, /* those above are what hints go by */
	TOPIC_IMPORT = TOPIC_HINT_COUNT,
	TOPIC_LOAD, /* of a model */
	TOPIC_COUNT
};
static_assert(TOPIC_COUNT <= 8, "a set of them is a byte");

/* TOPIC_COUNT: none of them. @file and @module, a binary, may be NULL. */
enum topic topic_of(const char *name, const char *file, const char *module);
/* Which topics each stack (row) is about, as a set of bits; malloc'ed, NULL: no memory. */
uint8_t *topics_of_stacks(struct analysis *a);
