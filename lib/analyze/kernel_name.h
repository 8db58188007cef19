/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernels as people read them. Libraries put a kernel's whole configuration into its name,
 * 160 characters in the median and 2,000 at worst; the short form keeps what it does, for which
 * architecture, with which tile and data type:
 *
 *	gemm sm80 32x32 bf16    add bf16    layer_norm bf16    flash_fwd d64 bf16
 */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>

/* Append the name without mangling; true when it was mangled. */
bool kernel_name_full(struct strbuf *out, const char *name);
/* Append the short form of a full name; false: it is short enough, and nothing was appended. */
bool kernel_name_short(struct strbuf *out, const char *full);
