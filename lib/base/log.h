/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug messages of the library. They go to one callback, which cmd/ sets under -v; without one
 * they cost a branch. Anything a user must see is an error, a counter or a record, never a log.
 */
#pragma once

typedef void (*log_fn)(void *data, const char *text);

void log_set(log_fn fn, void *data);
__attribute__((format(printf, 1, 2))) void log_debug(const char *fmt, ...);
