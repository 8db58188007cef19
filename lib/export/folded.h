/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded lines, "frame;frame;frame VALUE", one for each path with a value of its own: what
 * flamegraph.pl, inferno, speedscope, the Firefox Profiler and Pyroscope read. Knows the field's
 * suffixes and what a name must not contain; not where the tree comes from.
 */
#pragma once

#include "base/err.h"

#include <stdio.h>

struct profile;

/*
 * Root first, in the order of the tree. In names ';' becomes ':', control characters and what is
 * not UTF-8 become U+FFFD, a nameless frame is "[unknown]", and the space of "step 3" becomes
 * '_', since readers would take the 3 for a number of samples. 0, or the error of writing.
 */
int folded_write(FILE *out, const struct profile *p, int metric, struct err *err);
