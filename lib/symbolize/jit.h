/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code that a compiler made at run time, from what it writes for perf: a perf map
 * (/tmp/perf-PID.map: lines of start, size, name) or a jitdump (jit-PID.dump; in the kernel's sources,
 * tools/perf/Documentation/jitdump-specification.txt). Code is replaced while a program runs: where
 * entries overlap, the one written last counts.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "base/span.h"
#include "symbolize/symbol.h"

struct jit_symbols;

/* A JavaScript server writes some hundred thousand; what is beyond is dropped and counted. */
#define JIT_SYMBOLS_MAX (4u << 20)

/* The bytes are not needed afterwards. Lines that are none are skipped. */
int jit_symbols_new_map(struct jit_symbols **ret, struct span text, struct err *err);
/* A file that is cut off counts up to there; -EBADMSG: not a jitdump; -ENOTSUP: of another byte order. */
int jit_symbols_new_dump(struct jit_symbols **ret, struct span bytes, struct err *err);
void jit_symbols_free(struct jit_symbols *j);
DEFINE_CLEANUP(jit_symbols_free, struct jit_symbols *)

size_t jit_symbols_count(const struct jit_symbols *j);
/* Entries not kept: unreadable, or beyond the limit. */
size_t jit_symbols_skipped(const struct jit_symbols *j);

/* 0 and @ret, which lives until the next call; -ENOENT. */
int jit_symbols_at(struct jit_symbols *j, uint64_t address, struct symbol *ret);
