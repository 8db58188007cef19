/* SPDX-License-Identifier: Apache-2.0 */
#include "device/images.h"

#include "device/images_internal.h"
#include "device/object.h"
#include "elf/elf.h"

#include <elf.h>
#include <errno.h>
#include <lz4.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static int inflate_zlib(struct span in, uint8_t *out, size_t size)
{
	uLongf got = size;
	if (in.size > UINT32_MAX || uncompress(out, &got, in.data, in.size) != Z_OK || got != size)
		return -EBADMSG;
	return 0;
}

static int inflate_lz4(struct span in, uint8_t *out, size_t size)
{
	if (in.size > INT32_MAX || size > INT32_MAX)
		return -EBADMSG;
	int got = LZ4_decompress_safe((const char *)in.data, (char *)out, (int)in.size, (int)size);
	return got >= 0 && (size_t)got == size ? 0 : -EBADMSG;
}

/* The frame may have fewer bytes than its header's field: fatbins pad. */
static int inflate_zstd(struct span in, uint8_t *out, size_t size)
{
	size_t frame = ZSTD_findFrameCompressedSize(in.data, in.size);
	if (ZSTD_isError(frame))
		return -EBADMSG;
	size_t got = ZSTD_decompress(out, size, in.data, frame);
	return !ZSTD_isError(got) && got == size ? 0 : -EBADMSG;
}

/* The most that a byte can become: LZ4's limit is 255, zlib's 1032 (its author's figure). zstd has
 * none, but NVIDIA's code is at most 60 times as large; more would be a bomb. */
#define RATIO_MAX 4096

int device_image_inflate(const struct device_image *image, struct span *ret, uint8_t **ret_owned,
			 struct err *err)
{
	if (image->compression == IMAGE_STORED) {
		*ret = image->stored;
		*ret_owned = NULL;
		return 0;
	}
	if (image->size > IMAGE_BYTES_MAX || image->size / RATIO_MAX > image->stored.size)
		return err_set(err, -EBADMSG, "image at 0x%llx claims an impossible size",
			       (unsigned long long)image->offset);
	CLEANUP_FREE uint8_t *out = malloc(image->size ? image->size : 1);
	if (!out)
		return err_set(err, -ENOMEM, "cannot inflate an image");
	int rc = image->compression == IMAGE_LZ4    ? inflate_lz4(image->stored, out, image->size)
		 : image->compression == IMAGE_ZSTD ? inflate_zstd(image->stored, out, image->size)
						    : inflate_zlib(image->stored, out, image->size);
	if (rc < 0)
		return err_set(err, rc, "image at 0x%llx: damaged compressed data",
			       (unsigned long long)image->offset);
	*ret = span_of(out, image->size);
	*ret_owned = TAKE(out);
	return 0;
}

static bool begins_with(struct span s, const char *magic, size_t size)
{
	return s.size >= size && !memcmp(s.data, magic, size);
}

int images_emit(struct images_walk *w, const struct device_image *image)
{
	struct device_image shown = *image;
	w->count++;
	w->bytes.images += image->stored.size;
	if (w->is_before_linking)
		shown.kind = IMAGE_OTHER;
	return w->fn(w->data, &shown);
}

/* Fatbins or bundles one after the other, with zeros between them. */
static int walk_section(struct images_walk *w, struct span s, uint64_t base)
{
	size_t at = 0;

	while (at < s.size) {
		struct span rest = span_of(s.data + at, s.size - at);
		uint64_t used = 0;
		int rc = 0;
		if (begins_with(rest, FATBIN_MAGIC, 4))
			rc = images_fatbin(w, rest, base + at, &used);
		else if (begins_with(rest, BUNDLE_MAGIC, strlen(BUNDLE_MAGIC)))
			rc = images_bundle(w, rest, base + at, &used);
		else if (begins_with(rest, CCOB_MAGIC, 4))
			rc = images_compressed_bundle(w, rest, base + at, &used);
		if (rc)
			return rc;
		if (used) {
			at += used;
			continue;
		}
		/* To the next one; all of them are aligned to 8. */
		size_t step = 8 - (base + at) % 8;
		step = step < rest.size ? step : rest.size;
		bool is_zero = true;
		for (size_t i = 0; i < step; i++)
			is_zero &= !rest.data[i];
		*(is_zero ? &w->bytes.padding : &w->bytes.unknown) += step;
		at += step;
	}
	return 0;
}

static int ignore(void *data, const struct device_image *image)
{
	(void)data;
	(void)image;
	return 0;
}

/* Four bytes can stand there by chance. */
static bool is_fatbin(struct span s)
{
	struct images_walk dry = { .name = "", .fn = ignore };
	uint64_t used;
	return images_fatbin(&dry, s, 0, &used) == 0 && dry.count;
}

/* Fatbins among other data: cuFFT keeps 24,000 of them so. Only their bytes are counted. */
static int walk_data(struct images_walk *w, struct span s, uint64_t base)
{
	size_t at = 0;

	for (;;) {
		const uint8_t *found = memmem(s.data + at, s.size - at, FATBIN_MAGIC, 4);
		uint64_t used = 4;
		if (!found)
			return 0;
		at = (size_t)(found - s.data);
		struct span rest = span_of(found, s.size - at);
		if (is_fatbin(rest)) {
			int rc = images_fatbin(w, rest, base + at, &used);
			if (rc)
				return rc;
		}
		at += used;
	}
}

/* Code for an accelerator is no host program, whatever bytes it has. */
static bool is_device_code(const struct elf_file *elf)
{
	uint16_t machine = elf_header(elf).machine;
	return machine == EM_CUDA_ || machine == EM_INTELGT_ || machine == EM_AMDGPU_;
}

static int walk_host_section(struct images_walk *w, struct elf_file *elf,
			     const struct elf_section *s)
{
	struct span data;
	bool is_own = !strcmp(s->name, ".nv_fatbin") || !strcmp(s->name, ".hip_fatbin");
	/* What the device linker makes the others from; a program's own kernels are not here. */
	bool is_before_linking = !strcmp(s->name, "__nv_relfatbin");

	if (!is_own && !is_before_linking &&
	    (s->type != SHT_PROGBITS || !(s->flags & SHF_ALLOC) || s->flags & SHF_EXECINSTR))
		return 0;
	int rc = elf_section_data(elf, s, &data, w->err);
	if (rc)
		return rc;
	w->is_before_linking = is_before_linking;
	rc = is_own || is_before_linking ? walk_section(w, data, s->offset)
					 : walk_data(w, data, s->offset);
	w->is_before_linking = false;
	return rc;
}

static int walk_elf(struct images_walk *w, struct span file, struct err *err)
{
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	int rc = elf_open_memory(&elf, file, w->name, err);
	if (rc < 0)
		return rc;
	for (size_t i = 1; i < elf_section_count(elf) && !is_device_code(elf); i++) {
		struct elf_section s = elf_section_get(elf, i);
		rc = walk_host_section(w, elf, &s);
		if (rc)
			return rc;
	}
	if (w->count)
		return 0;
	/* No container: the file itself, if it can be opened, is the image. */
	return images_emit(w, &(struct device_image){
				      .kind = IMAGE_ELF,
				      .target = "",
				      .name = "",
				      .stored = file,
				      .size = file.size,
			      });
}

int device_images(struct span file, const char *name,
		  int (*fn)(void *data, const struct device_image *image), void *data,
		  struct device_image_bytes *ret_bytes, struct err *err)
{
	struct images_walk w = { .name = name, .fn = fn, .data = data, .err = err };
	int rc;

	if (begins_with(file, "\177ELF", 4))
		rc = walk_elf(&w, file, err);
	else if (begins_with(file, "CTNI", 4)) /* device_open() says what that is */
		rc = images_emit(
			&w, &(struct device_image){
				    .target = "", .name = "", .stored = file, .size = file.size });
	else if (begins_with(file, ARCHIVE_MAGIC, strlen(ARCHIVE_MAGIC)))
		rc = images_archive(&w, file);
	else
		rc = walk_section(&w, file, 0);
	if (rc)
		return rc;
	if (!w.count) {
		/* -EINVAL: the text says all. */
		err_set(err, -EINVAL, "'%s' holds no accelerator code that is known here", name);
		return -ENOENT;
	}
	if (ret_bytes)
		*ret_bytes = w.bytes;
	return 0;
}
