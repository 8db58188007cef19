/* SPDX-License-Identifier: Apache-2.0 */
/* Names without what differs from run to run, build to build and machine to machine. */
#pragma once

#include "base/strbuf.h"
#include "profile/profile.h"

/*
 * Append a frame's name without lines of Python, addresses, numbers of processes, of lambdas, of
 * compiled functions ("triton_poi_fused_add_3") and of kernels with an equal short name, and
 * architectures ("gemm sm80 32x32 bf16").
 */
void comparable_name(struct strbuf *out, const struct frame *frame);
/* What a kernel does, "gemm" of "gemm sm80 32x32 bf16": the first word of its comparable name. */
void comparable_family(struct strbuf *out, const struct frame *kernel);
