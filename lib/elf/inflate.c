/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/inflate.h"

#include "base/cleanup.h"
#include "base/vec.h"

#include <elf.h>
#include <errno.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

/* elf.h of glibc 2.36 does not have it yet; value from the gABI, 4.1 of 2022. */
#define CHDR_ZLIB 1u
#define CHDR_ZSTD 2u

/* xz -9 takes 65 MiB to inflate; what gdb's and Fedora's mini-debuginfo use takes 9 MiB. */
#define XZ_MEMORY_MAX (128ull << 20)

static int inflate_zlib(struct span in, uint8_t *out, size_t size)
{
	z_stream z = { .next_in = (Bytef *)in.data, .next_out = out };
	int rc = Z_OK;

	if (inflateInit(&z) != Z_OK)
		return -ENOMEM;
	/* zlib counts in 32 bits, sections do not. */
	size_t in_left = in.size, out_left = size;
	while (rc == Z_OK && (in_left || z.avail_in)) {
		if (!z.avail_in) {
			z.avail_in = in_left > UINT32_MAX ? UINT32_MAX : (uInt)in_left;
			in_left -= z.avail_in;
		}
		if (!z.avail_out) {
			z.avail_out = out_left > UINT32_MAX ? UINT32_MAX : (uInt)out_left;
			out_left -= z.avail_out;
		}
		rc = inflate(&z, Z_NO_FLUSH);
	}
	size_t missing = out_left + z.avail_out;
	inflateEnd(&z);
	return rc == Z_STREAM_END && !missing ? 0 : -EBADMSG;
}

int inflate_section(struct span in, uint64_t max, const char *what, uint8_t **ret, size_t *ret_size,
		    struct err *err)
{
	Elf64_Chdr chdr;
	if (in.size < sizeof(chdr))
		return err_set(err, -EBADMSG, "%s: truncated compression header", what);
	memcpy(&chdr, in.data, sizeof(chdr));
	if (chdr.ch_size > max)
		return err_set(err, -EFBIG, "%s: inflates to %llu bytes", what,
			       (unsigned long long)chdr.ch_size);
	if (chdr.ch_type != CHDR_ZLIB && chdr.ch_type != CHDR_ZSTD)
		return err_set(err, -ENOTSUP, "%s: compression type %u", what, chdr.ch_type);

	struct span body = span_of(in.data + sizeof(chdr), in.size - sizeof(chdr));
	/* The best ratio of zlib is 1032:1 (its author's figure); a larger claim is a lie that
	 * would cost memory. zstd has no such bound, but @max holds. */
	if (chdr.ch_type == CHDR_ZLIB && chdr.ch_size / 1032 > body.size)
		return err_set(err, -EBADMSG, "%s: claims an impossible inflated size", what);

	size_t size = chdr.ch_size;
	CLEANUP_FREE uint8_t *out = malloc(size ? size : 1);
	if (!out)
		return err_set(err, -ENOMEM, "%s", what);
	if (chdr.ch_type == CHDR_ZLIB) {
		int rc = inflate_zlib(body, out, size);
		if (rc < 0)
			return err_set(err, rc, "%s: damaged zlib data", what);
	} else {
		size_t n = ZSTD_decompress(out, size, body.data, body.size);
		if (ZSTD_isError(n) || n != size)
			return err_set(err, -EBADMSG, "%s: damaged zstd data", what);
	}
	*ret = TAKE(out);
	*ret_size = size;
	return 0;
}

int inflate_xz(struct span in, uint64_t max, const char *what, uint8_t **ret, size_t *ret_size,
	       struct err *err)
{
	lzma_stream s = LZMA_STREAM_INIT;
	CLEANUP_FREE uint8_t *out = NULL;
	size_t cap = 0;
	lzma_ret rc = lzma_stream_decoder(&s, XZ_MEMORY_MAX, 0);

	if (rc != LZMA_OK)
		return err_set(err, -ENOMEM, "%s", what);
	s.next_in = in.data;
	s.avail_in = in.size;
	while (rc == LZMA_OK) {
		size_t used = s.total_out;
		if (used > max) {
			lzma_end(&s);
			return err_set(err, -EFBIG, "%s: inflates to more than %llu bytes", what,
				       (unsigned long long)max);
		}
		if (used == cap && vec_grow(&out, &cap, used + 65536, 1) < 0) {
			lzma_end(&s);
			return err_set(err, -ENOMEM, "%s", what);
		}
		s.next_out = out + used;
		s.avail_out = cap - used;
		rc = lzma_code(&s, LZMA_FINISH);
	}
	size_t size = s.total_out;
	lzma_end(&s);
	if (rc == LZMA_MEM_ERROR || rc == LZMA_MEMLIMIT_ERROR)
		return err_set(err, -ENOMEM, "%s", what);
	if (rc != LZMA_STREAM_END)
		return err_set(err, -EBADMSG, "%s: damaged xz data", what);
	*ret = TAKE(out);
	*ret_size = size;
	return 0;
}
