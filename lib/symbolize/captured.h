/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder has found out: symbols by (object, offset), as SYMBOL records hold them. */
#pragma once

#include "base/cleanup.h"
#include "symbolize/symbol.h"

struct captured_symbols;

int captured_symbols_new(struct captured_symbols **ret);
void captured_symbols_free(struct captured_symbols *c);
DEFINE_CLEANUP(captured_symbols_free, struct captured_symbols *)

/* Copies everything. A second symbol for the same place replaces the first. 0 or -ENOMEM. */
__attribute__((warn_unused_result)) int captured_symbols_add(struct captured_symbols *c,
							     uint32_t object, uint64_t offset,
							     const struct symbol *symbol);

/* 0 and @ret, which lives until the next call; -ENOENT. An offset that was not added, but lies in the
 * range of a function that was, gets that function's name without lines. */
int captured_symbols_at(struct captured_symbols *c, uint32_t object, uint64_t offset,
			struct symbol *ret);
