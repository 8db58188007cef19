/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions in accelerator code as people read them; kernel_name.h has those of kernels. */
#pragma once

#include <stddef.h>

/* The name without mangling, malloc'ed; NULL when it is not mangled, or memory is out. */
char *names_demangle(const char *name);
