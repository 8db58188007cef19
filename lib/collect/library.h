/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the dynamic linker would find a library, without loading it: what it runs on loading is not
 * ours to run. Looks into LD_LIBRARY_PATH and /etc/ld.so.cache, for our own processor.
 */
#pragma once

#include "base/span.h"

#include <stdbool.h>

/* @name as in DT_NEEDED: "libOpenCL.so.1". A malloc'ed path, or NULL. */
char *library_find(const char *name);
/* One of our own that lives in targets, as built or as installed: likewise. */
char *library_own(const char *name);
/* The same in the bytes of a cache: borrowed from it, or NULL. */
const char *library_find_in_cache(struct span cache, const char *name);
