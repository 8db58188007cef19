/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of byte strings: equal bytes get the same small number, so that strings (or stacks, or
 * any other blob) compare as integers. Number 0 is always the empty string. Strings live as long
 * as the table and do not move; each has a NUL behind it, and may contain NULs.
 */
#pragma once

#include "base/arena.h"
#include "base/slots.h"
#include "base/span.h"
#include "base/vec.h"

#include <stdint.h>

/* All-zero is an empty table. */
struct strtab {
	struct arena arena;
	VEC(struct span) strings; /* by number */
	VEC(uint64_t) hashes;     /* by number; spares rehashing when the index grows */
	struct slots slots;
};

void strtab_release(struct strtab *t);
/* The number of these bytes, new or known; sets @ret_fresh (may be NULL) to whether it is new.
 * Negative: -ENOMEM, or -E2BIG beyond 2^31 - 1 strings. */
__attribute__((warn_unused_result)) int strtab_intern(struct strtab *t, const void *data,
						      size_t size, uint32_t *ret, bool *ret_fresh);
/* The same of known ones only; -ENOENT. */
int strtab_find(const struct strtab *t, const void *data, size_t size, uint32_t *ret);
__attribute__((warn_unused_result)) int strtab_add(struct strtab *t, const char *text,
						   uint32_t *ret);
/* The string of a number that strtab_intern() gave. */
struct span strtab_get(const struct strtab *t, uint32_t id);
const char *strtab_text(const struct strtab *t, uint32_t id);
/* How many numbers are given out, counting 0. */
uint32_t strtab_count(const struct strtab *t);
