/* SPDX-License-Identifier: Apache-2.0 */
/* The frame around a run of records: sync mark, sizes and checksums. See FORMAT.md. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CAPTURE_VERSION    1u
#define CHUNK_MAGIC_BYTES  8u
#define CHUNK_HEADER_BYTES 32u
/* What a reader must be able to hold of a file it does not trust. */
#define CHUNK_INFLATED_MAX (1u << 20)
/* zlib's bound for what does not compress is a few hundred bytes more than its input. */
#define CHUNK_STORED_MAX (CHUNK_INFLATED_MAX + 4096u)

enum chunk_flag {
	CHUNK_STARTS_EPOCH = 1 << 0, /* refers to no stack defined before it */
};

struct chunk_header {
	uint16_t version;
	uint16_t flags;    /* enum chunk_flag */
	uint32_t sequence; /* 0, 1, ... */
	uint32_t inflated_bytes, stored_bytes;
	uint32_t crc; /* of the stored payload */
};

extern const uint8_t chunk_magic[CHUNK_MAGIC_BYTES];

void chunk_header_pack(const struct chunk_header *h, uint8_t ret[CHUNK_HEADER_BYTES]);
/* -EBADMSG when it is not a header, or damaged. */
int chunk_header_unpack(const uint8_t data[CHUNK_HEADER_BYTES], struct chunk_header *ret);
uint32_t chunk_crc(const void *data, size_t size);
