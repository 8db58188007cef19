/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/chunk.h"

#include "base/span.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

/* As PNG's signature does it: a byte no text has, a CR LF and an LF that transfers in text mode
 * would change, and the end-of-file character of DOS. */
const uint8_t chunk_magic[CHUNK_MAGIC_BYTES] = { 0x89, 'A', 'P', 'F', '\r', '\n', 0x1a, '\n' };

uint32_t chunk_crc(const void *data, size_t size)
{
	return (uint32_t)crc32_z(0, data, size);
}

void chunk_header_pack(const struct chunk_header *h, uint8_t ret[CHUNK_HEADER_BYTES])
{
	memcpy(ret, chunk_magic, 8);
	memcpy(ret + 8, &h->version, 2);
	memcpy(ret + 10, &h->flags, 2);
	memcpy(ret + 12, &h->sequence, 4);
	memcpy(ret + 16, &h->inflated_bytes, 4);
	memcpy(ret + 20, &h->stored_bytes, 4);
	memcpy(ret + 24, &h->crc, 4);
	uint32_t crc = chunk_crc(ret, 28);
	memcpy(ret + 28, &crc, 4);
}

int chunk_header_unpack(const uint8_t data[CHUNK_HEADER_BYTES], struct chunk_header *ret)
{
	uint32_t crc;
	memcpy(&crc, data + 28, 4);
	if (memcmp(data, chunk_magic, CHUNK_MAGIC_BYTES) != 0 || crc != chunk_crc(data, 28))
		return -EBADMSG;

	struct chunk_header h;
	memcpy(&h.version, data + 8, 2);
	memcpy(&h.flags, data + 10, 2);
	memcpy(&h.sequence, data + 12, 4);
	memcpy(&h.inflated_bytes, data + 16, 4);
	memcpy(&h.stored_bytes, data + 20, 4);
	memcpy(&h.crc, data + 24, 4);
	if (h.inflated_bytes > CHUNK_INFLATED_MAX || h.stored_bytes > CHUNK_STORED_MAX)
		return -EBADMSG;
	*ret = h;
	return 0;
}
