/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clang's offload bundles (llvm.org, "Clang Offload Bundler"): a magic, a count, for each entry its
 * place, size and target, then the entries. Compressed ones ("CCOB") are the same behind zlib or
 * zstd: version 1 without and 2 with the size of the whole, 3 with sizes of 64 bits.
 */
#include "device/images_internal.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

/* A bundle has one entry for each processor: ROCm's libraries have up to 40. */
#define ENTRIES_MAX 4096
#define TARGET_MAX  256

static int damaged(struct images_walk *w, uint64_t at, const char *what)
{
	return err_set(w->err, -EBADMSG, "'%s': offload bundle at 0x%llx: %s", w->name,
		       (unsigned long long)at, what);
}

/* "host-x86_64-unknown-linux" is there for form's sake, mostly empty. */
static enum image_kind kind_of(const char *target, struct span s)
{
	if (!strncmp(target, "host", 4) || s.size < 4 || memcmp(s.data, "\177ELF", 4) != 0)
		return IMAGE_OTHER;
	return IMAGE_ELF;
}

static int read_entry(struct images_walk *w, struct cursor *c, struct span s, uint64_t base,
		      uint64_t *end)
{
	uint64_t offset, size, id_size;
	struct span id, stored;
	char target[TARGET_MAX];

	if (cursor_u64(c, &offset, NULL) < 0 || cursor_u64(c, &size, NULL) < 0 ||
	    cursor_u64(c, &id_size, NULL) < 0 || cursor_bytes(c, id_size, &id, NULL) < 0)
		return damaged(w, base, "truncated list");
	if (id.size >= sizeof(target))
		return damaged(w, base, "target too long");
	if (span_slice(s, offset, size, &stored) < 0)
		return damaged(w, base, "an entry lies outside");
	memcpy(target, id.data, id.size);
	target[id.size] = '\0';
	*end = offset + size > *end ? offset + size : *end;
	if (!size)
		return 0;
	return images_emit(w, &(struct device_image){
				      .kind = kind_of(target, stored),
				      .target = target,
				      .name = "",
				      .offset = base + offset,
				      .stored = stored,
				      .size = size,
			      });
}

int images_bundle(struct images_walk *w, struct span s, uint64_t base, uint64_t *ret_used)
{
	struct cursor c = cursor_of(s, w->name);
	uint64_t count, end, images = w->bytes.images;

	if (cursor_skip(&c, strlen(BUNDLE_MAGIC), NULL) < 0 || cursor_u64(&c, &count, NULL) < 0)
		return damaged(w, base, "truncated header");
	if (count > ENTRIES_MAX)
		return damaged(w, base, "impossible number of entries");
	end = c.pos;
	for (uint64_t i = 0; i < count; i++) {
		int rc = read_entry(w, &c, s, base, &end);
		if (rc)
			return rc;
	}
	end = end > c.pos ? end : c.pos;
	w->bytes.headers += c.pos;
	/* Entries may overlap in a forged file; then the sum says so by being too large. */
	images = w->bytes.images - images;
	w->bytes.padding += end - c.pos > images ? end - c.pos - images : 0;
	*ret_used = end;
	return 0;
}

int images_compressed_bundle(struct images_walk *w, struct span s, uint64_t base,
			     uint64_t *ret_used)
{
	struct cursor c = cursor_of(s, w->name);
	uint16_t version, method;
	uint32_t total32 = 0, size32 = 0;
	uint64_t total = s.size, size, hash;
	int rc = cursor_skip(&c, strlen(CCOB_MAGIC), NULL);

	rc = rc ? rc : cursor_u16(&c, &version, NULL);
	rc = rc ? rc : cursor_u16(&c, &method, NULL);
	if (rc || version < 1 || version > 3 || method > 1)
		return damaged(w, base, "unknown compressed form");
	if (version == 3) {
		rc = cursor_u64(&c, &total, NULL);
		rc = rc ? rc : cursor_u64(&c, &size, NULL);
	} else {
		rc = version == 2 ? cursor_u32(&c, &total32, NULL) : 0;
		rc = rc ? rc : cursor_u32(&c, &size32, NULL);
		total = version == 2 ? total32 : s.size;
		size = size32;
	}
	rc = rc ? rc : cursor_u64(&c, &hash, NULL);
	if (rc || total < c.pos || total > s.size)
		return damaged(w, base, "truncated compressed bundle");

	struct device_image whole = {
		.compression = method ? IMAGE_ZSTD : IMAGE_ZLIB,
		.offset = base + c.pos,
		.stored = span_of(s.data + c.pos, total - c.pos),
		.size = size,
	};
	CLEANUP_FREE uint8_t *owned = NULL;
	struct span inner;
	rc = device_image_inflate(&whole, &inner, &owned, w->err);
	if (rc < 0)
		return rc;
	if (inner.size < strlen(BUNDLE_MAGIC) ||
	    memcmp(inner.data, BUNDLE_MAGIC, strlen(BUNDLE_MAGIC)) != 0)
		return damaged(w, base, "holds no bundle");
	/* The bytes of the file count, not what they inflate to. */
	struct device_image_bytes before = w->bytes;
	uint64_t inner_used;
	rc = images_bundle(w, inner, 0, &inner_used);
	if (rc)
		return rc;
	w->bytes = before;
	w->bytes.headers += c.pos;
	w->bytes.images += total - c.pos;
	*ret_used = total;
	return 0;
}
