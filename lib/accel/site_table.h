/* SPDX-License-Identifier: Apache-2.0 */
/* The words that tables of sites are written in: values of a struct probe_site. Only for those tables. */
#pragma once

#include "accel/site.h"

/* Argument @n of the call, from 0. */
#define ARG(n)                                       \
	{                                            \
		.base = PROBE_ARGUMENT, .index = (n) \
	}
#define ARG32(n)                                                \
	{                                                       \
		.base = PROBE_ARGUMENT, .index = (n), .size = 4 \
	}
/* @n words where argument @arg points to. */
#define WORDS(arg, n)                                                             \
	{                                                                         \
		.base = PROBE_ARGUMENT, .index = (arg), .derefs = 1, .count = (n) \
	}
/* What the function returned. */
#define RETURN                       \
	{                            \
		.base = PROBE_RETURN \
	}
#define RETURN32                                \
	{                                       \
		.base = PROBE_RETURN, .size = 4 \
	}
/* What value @n points to when the function has returned. */
#define OUT(n)                                               \
	{                                                    \
		.base = PROBE_OUT, .index = (n), .derefs = 1 \
	}
/* What a library of ours inside a target tells: messages, their size. */
#define TOLD_BATCH(number, file, function, listeners)                                              \
	{                                                                                          \
		.library = (file), .symbol = (function), .id = (number), .flags = PROBE_AT_RETURN, \
		.value = { ARG(0), ARG(1) },                                                       \
		.text = { .kind = PROBE_TEXT_BYTES,                                                \
			  .pointer = 0,                                                            \
			  .count = 1,                                                              \
			  .scale = 1,                                                              \
			  .max = INJECT_BATCH_BYTES },                                             \
		.lasts = LASTS_BY_MESSAGE, .counter = (listeners)                                  \
	}
/* Never called: a probe on it asks the library for what accel_wants() says. */
#define TOLD_REQUEST(number, file, function, listeners)                  \
	{                                                                \
		.library = (file), .symbol = (function), .id = (number), \
		.flags = PROBE_ON_REQUEST, .counter = (listeners)        \
	}
