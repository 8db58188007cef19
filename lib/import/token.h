/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long one name or value of a JSON text is. yajl keeps what it has of one that goes on in the next chunk and looks
 * at all of it again then: at one of 400 MB, which are 400 KB in a compressed file, for hours.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yajl/yajl_common.h>

/* The longest seen are sources of kernels, below a megabyte. */
#define TOKEN_BYTES_MAX (16u << 20)
#define TOKEN_TOO_LONG  "a name or value of more than 16 MB"

struct token_watch {
	yajl_alloc_funcs memory; /* for yajl_alloc() */
	size_t largest;          /* that yajl has asked for */
};

/* @w must not move from here on. */
void token_watch_init(struct token_watch *w);

static inline bool token_is_too_long(const struct token_watch *w)
{
	return w->largest > TOKEN_BYTES_MAX;
}
