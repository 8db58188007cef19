/* SPDX-License-Identifier: Apache-2.0 */
/* Symbol names as people wrote them: C++ (Itanium ABI) and Rust, by libiberty. */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>

/* Longer names are shown as they are: libiberty recurses over a name, and this many characters are
 * within the smallest stack we run on. Of libtorch's 34,000 names 99.9 % are below 4 KiB. */
#define DEMANGLE_INPUT_MAX 16384u
/* Substitutions can make a short name mean gigabytes of text. */
#define DEMANGLE_OUTPUT_MAX 65536u

enum demangle_flag {
	DEMANGLE_PARAMS = 1 << 0, /* with parameters and what compilers append to clones */
};

/*
 * Append what to show for @name. Without DEMANGLE_PARAMS that is the qualified name with template
 * arguments; ".cold", ".isra.0" and their like, which mark parts and copies that a compiler made of one
 * function, are left out, for C functions too. True: the name was mangled; false: it stands as it was.
 */
bool demangle(struct strbuf *out, const char *name, unsigned flags);
