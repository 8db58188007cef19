/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's disassembler, a program that some users have: asked for bare instructions, so that it gets to see
 * no file of a stranger. Knows nothing of cubins.
 */
#pragma once

#include "base/span.h"

#include <stddef.h>

/*
 * What it writes about @code of @arch ("SM90"), with a NUL behind it, for free(). It is $NVDISASM, else in $PATH,
 * else in the toolkit's folder; an empty $NVDISASM: none. It runs as nobody where it can, can open files for
 * reading and do nothing else, within limits of memory and time. -ENOENT: there is none; -EPIPE: it failed.
 */
int nvdisasm_run(const char *arch, struct span code, char **ret, size_t *ret_size);
