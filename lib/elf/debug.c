/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/debug.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static int read_section(struct elf_file *f, const char *name, struct span *ret)
{
	struct elf_section s;
	if (elf_section_find(f, name, &s) < 0 || elf_section_data(f, &s, ret, NULL) < 0)
		return -ENOENT;
	return 0;
}

int elf_debug_link(struct elf_file *f, struct elf_debug_link *ret)
{
	struct span data, name;
	if (read_section(f, ".gnu_debuglink", &data) < 0)
		return -ENOENT;
	struct cursor c = cursor_of(data, NULL);
	if (cursor_cstr(&c, &name, NULL) < 0 || !name.size || name.size >= sizeof(ret->name) ||
	    memchr(name.data, '/', name.size))
		return -ENOENT;
	/* The CRC is aligned to 4 bytes. */
	struct elf_debug_link link = { 0 };
	if (cursor_skip(&c, -c.pos & 3, NULL) < 0 || cursor_u32(&c, &link.crc, NULL) < 0)
		return -ENOENT;
	memcpy(link.name, name.data, name.size);
	if (strcmp(link.name, ".") == 0 || strcmp(link.name, "..") == 0)
		return -ENOENT;
	*ret = link;
	return 0;
}

int elf_debug_alt(struct elf_file *f, struct elf_debug_alt *ret)
{
	struct span data, path, id;
	if (read_section(f, ".gnu_debugaltlink", &data) < 0)
		return -ENOENT;
	struct cursor c = cursor_of(data, NULL);
	if (cursor_cstr(&c, &path, NULL) < 0 || path.size >= sizeof(ret->path) ||
	    cursor_bytes(&c, cursor_left(&c), &id, NULL) < 0 || !id.size ||
	    id.size > ELF_BUILD_ID_MAX)
		return -ENOENT;
	memset(ret->path, 0, sizeof(ret->path));
	if (path.size)
		memcpy(ret->path, path.data, path.size);
	memcpy(ret->build_id.bytes, id.data, id.size);
	ret->build_id.size = id.size;
	return 0;
}

void elf_build_id_path(const struct elf_build_id *id, char ret[ELF_BUILD_ID_PATH_BYTES])
{
	static const char hex[] = "0123456789abcdef";
	char *p = stpcpy(ret, ELF_DEBUG_ROOT "/.build-id/");

	for (size_t i = 0; i < id->size && i < ELF_BUILD_ID_MAX; i++) {
		*p++ = hex[id->bytes[i] >> 4];
		*p++ = hex[id->bytes[i] & 15];
		if (!i)
			*p++ = '/';
	}
	strcpy(p, ".debug");
}

/* The CRC-32 of all bytes, as .gnu_debuglink has it: reads the whole file. */
static int elf_debug_crc(const struct elf_file *f, uint32_t *ret)
{
	enum {
		CHUNK = 1 << 18
	};
	CLEANUP_FREE uint8_t *chunk = malloc(CHUNK);
	uint64_t size = elf_file_bytes(f);
	uLong crc = crc32(0, NULL, 0);

	if (!chunk)
		return -ENOMEM;
	for (uint64_t at = 0; at < size;) {
		size_t n = size - at < CHUNK ? size - at : CHUNK;
		int rc = elf_read(f, at, chunk, n);
		if (rc < 0)
			return rc;
		crc = crc32(crc, chunk, (uInt)n);
		at += n;
	}
	*ret = (uint32_t)crc;
	return 0;
}

bool elf_debug_matches(struct elf_file *f, struct elf_file *debug)
{
	struct elf_build_id a, b;
	if (elf_build_id(f, &a) == 0 && elf_build_id(debug, &b) == 0)
		return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;

	struct elf_debug_link link;
	uint32_t crc;
	return elf_debug_link(f, &link) == 0 && elf_debug_crc(debug, &crc) == 0 && crc == link.crc;
}
