/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as base64 of raw deflate (RFC 4648, RFC 1951): how data travels inside a picture. */
#pragma once

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "flame/base64.h"

#include <zlib.h>

struct packer {
	z_stream z;
	struct base64 base64;
	struct strbuf *out;
};

/* 0 or -ENOMEM; only then to be released. */
int packer_init(struct packer *k, struct strbuf *out);
void packer_release(struct packer *k);
DEFINE_CLEANUP_EMBEDDED(packer_release, struct packer)
void packer_add(struct packer *k, const void *data, size_t size);
/* The rest; a lack of memory is in the output's state. */
void packer_end(struct packer *k);

/* A number as LEB128, before packing. */
void pack_number(struct strbuf *out, uint64_t value);
