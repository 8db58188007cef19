/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA fatbins. NVIDIA documents no format; this is what nvcc 11.8 to 13.0 write, checked byte for byte
 * on builds with each option of fatbinary and on the libraries of CUDA 13:
 *
 *	u32 magic 0xba55ed50, u16 version 1, u16 header size (16), u64 size of what follows
 *	entries:
 *	 0 u16 kind (1 PTX, 2 ELF)     2 u16 0x0101            4 u32 header size (64 and more)
 *	 8 u64 stored size, padded    16 u32 compressed size  20 u32 offset of options
 *	24 u16 minor, u16 major       28 u32 architecture     32 u32 name offset, u32 name size
 *	40 u64 flags                  48 u64 0                56 u64 inflated size (0: stored)
 */
#include "device/images_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ENTRY_BYTES 64u
#define FLAG_LZ4    0x2000u
#define FLAG_ZSTD   0x8000u
/* "sm_90a": only for this architecture; "sm_100f": for its family. */
#define FLAG_ARCH_ONLY   0x100000u
#define FLAG_FAMILY_ONLY 0x200000u
#define NAME_MAX_BYTES   4096

struct entry {
	uint16_t kind, version;
	uint32_t header, compressed, options;
	uint64_t padded;
	uint16_t minor, major;
	uint32_t arch, name, name_size;
	uint64_t flags, zero, inflated;
};

static int damaged(struct images_walk *w, uint64_t at, const char *what)
{
	return err_set(w->err, -EBADMSG, "'%s': fatbin at 0x%llx: %s", w->name,
		       (unsigned long long)at, what);
}

static int read_header(struct cursor *c, struct entry *e)
{
	int rc = cursor_u16(c, &e->kind, NULL);
	rc = rc ? rc : cursor_u16(c, &e->version, NULL);
	rc = rc ? rc : cursor_u32(c, &e->header, NULL);
	rc = rc ? rc : cursor_u64(c, &e->padded, NULL);
	rc = rc ? rc : cursor_u32(c, &e->compressed, NULL);
	rc = rc ? rc : cursor_u32(c, &e->options, NULL);
	rc = rc ? rc : cursor_u16(c, &e->minor, NULL);
	rc = rc ? rc : cursor_u16(c, &e->major, NULL);
	rc = rc ? rc : cursor_u32(c, &e->arch, NULL);
	rc = rc ? rc : cursor_u32(c, &e->name, NULL);
	rc = rc ? rc : cursor_u32(c, &e->name_size, NULL);
	rc = rc ? rc : cursor_u64(c, &e->flags, NULL);
	rc = rc ? rc : cursor_u64(c, &e->zero, NULL);
	return rc ? rc : cursor_u64(c, &e->inflated, NULL);
}

/* The entry's own header, then its bytes; *@at moves behind both. */
static int read_entry(struct images_walk *w, struct span s, uint64_t base, size_t *at)
{
	struct cursor c = cursor_of(span_of(s.data + *at, s.size - *at), w->name);
	struct entry e;
	struct span name = span_of("", 0);
	char target[32], text[NAME_MAX_BYTES];

	if (read_header(&c, &e) < 0 || e.header < ENTRY_BYTES ||
	    !span_contains(c.span, e.header, e.padded))
		return damaged(w, base + *at, "an entry lies outside");
	bool is_compressed = e.flags & (FLAG_LZ4 | FLAG_ZSTD);
	if (is_compressed && e.compressed > e.padded)
		return damaged(w, base + *at, "an entry is larger than its place");
	/* The name is a part of the header; its size counts the NUL. */
	if (e.name && e.name < e.header)
		span_slice(span_of(c.span.data, e.header), e.name, e.name_size, &name);
	size_t size = strnlen((const char *)name.data, name.size);
	size = size < sizeof(text) - 1 ? size : sizeof(text) - 1;
	memcpy(text, name.data, size);
	text[size] = '\0';
	snprintf(target, sizeof(target), "sm_%u%s", e.arch,
		 e.flags & FLAG_ARCH_ONLY     ? "a"
		 : e.flags & FLAG_FAMILY_ONLY ? "f"
					      : "");
	uint64_t stored = is_compressed ? e.compressed : e.padded;
	struct device_image image = {
		.kind = e.kind == 2   ? IMAGE_ELF
			: e.kind == 1 ? IMAGE_PTX
				      : IMAGE_OTHER,
		.compression = e.flags & FLAG_ZSTD  ? IMAGE_ZSTD
			       : e.flags & FLAG_LZ4 ? IMAGE_LZ4
						    : IMAGE_STORED,
		.target = target,
		.name = text,
		.offset = base + *at + e.header,
		.stored = span_of(c.span.data + e.header, stored),
		.size = is_compressed ? e.inflated : stored,
	};
	w->bytes.headers += e.header;
	w->bytes.padding += e.padded - stored;
	*at += e.header + e.padded;
	return images_emit(w, &image);
}

int images_fatbin(struct images_walk *w, struct span s, uint64_t base, uint64_t *ret_used)
{
	struct cursor c = cursor_of(s, w->name);
	uint32_t magic;
	uint16_t version, header;
	uint64_t size;

	int rc = cursor_u32(&c, &magic, NULL);
	rc = rc ? rc : cursor_u16(&c, &version, NULL);
	rc = rc ? rc : cursor_u16(&c, &header, NULL);
	rc = rc ? rc : cursor_u64(&c, &size, NULL);
	if (rc || header < c.pos || !span_contains(s, header, size))
		return damaged(w, base, "truncated");
	struct span whole = span_of(s.data, header + size);
	size_t at = header;
	w->bytes.headers += header;
	while (at + ENTRY_BYTES <= whole.size) {
		rc = read_entry(w, whole, base, &at);
		if (rc)
			return rc;
	}
	w->bytes.padding += whole.size - at;
	*ret_used = whole.size;
	return 0;
}
