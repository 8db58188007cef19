/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growable array of any type:
 *
 *	VEC(struct sample) samples = { 0 };
 *	if (vec_push(&samples, s) < 0)
 *		return -ENOMEM;
 *	vec_for_each(&samples, it) use(it);
 *	vec_release(&samples);
 *
 * `data`, `len` and `cap` may be read; elements move when the array grows.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define VEC(type)                \
	struct {                 \
		type *data;      \
		size_t len, cap; \
	}

/* Room for @cap elements of @size bytes, doubling; 0 or -ENOMEM (then nothing changed). */
__attribute__((warn_unused_result)) int vec_grow(void *data, size_t *cap, size_t want, size_t size);

#define vec_reserve(v, want) \
	((want) <= (v)->cap ? 0 : vec_grow(&(v)->data, &(v)->cap, (want), sizeof(*(v)->data)))

/* 0 or -ENOMEM. */
#define vec_push(v, ...)                                     \
	(vec_reserve(v, (v)->len + 1) < 0 ? -12 /* ENOMEM */ \
					  : ((v)->data[(v)->len++] = (__VA_ARGS__), 0))

#define vec_last(v) (&(v)->data[(v)->len - 1])

#define vec_for_each(v, it) \
	for (__typeof__(&*(v)->data) it = (v)->data; it && it < (v)->data + (v)->len; it++)

#define vec_release(v)                   \
	do {                             \
		free((v)->data);         \
		(v)->data = NULL;        \
		(v)->len = (v)->cap = 0; \
	} while (0)
