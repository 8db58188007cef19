/* SPDX-License-Identifier: Apache-2.0 */
/* What the program says to its user on stderr, apart from results, which go to stdout. */
#pragma once

#include "base/err.h"

/* "accel-prof: TEXT" and a newline; control characters in names are made harmless. CMD_FAILED. */
__attribute__((format(printf, 1, 2))) int tell(const char *fmt, ...);
/* The same for an error of the library. */
int tell_error(const struct err *err);
/* The same with "See 'accel-prof --help'." behind it: CMD_USAGE. */
__attribute__((format(printf, 1, 2))) int tell_usage(const char *fmt, ...);

/* Whether stdout still takes what is written: 0, or CMD_FAILED, told once. For long outputs. */
int tell_stdout_error(void);
/* To be called at exit: what could not be written to stdout is an error, not silence. */
void tell_at_exit(void);
