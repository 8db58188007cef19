/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernels as people read them. */
#pragma once

#include <stddef.h>

/* The name without mangling, malloc'ed; NULL when it is not mangled, or memory is out. */
char *names_demangle(const char *name);
