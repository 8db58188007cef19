/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as base64 of raw deflate (RFC 4648, RFC 1951): how data travels inside a picture. Blocks are
 * compressed side by side on all processors; the output depends on nothing but the input.
 */
#pragma once

#include "base/cleanup.h"
#include "base/strbuf.h"

#include <stdint.h>

/* What was added so far; all-zero is an empty one. */
struct packer {
	struct strbuf plain;
};

void packer_release(struct packer *k);
DEFINE_CLEANUP_EMBEDDED(packer_release, struct packer)
/* A lack of memory is told at the end. */
void packer_add(struct packer *k, const void *data, size_t size);
/* Everything that was added, packed: 0 or -ENOMEM. */
int packer_end(struct packer *k, struct strbuf *out);

/* A number as LEB128, before packing. */
void pack_number(struct strbuf *out, uint64_t value);
