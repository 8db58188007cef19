/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code objects inside a file: one itself, CUDA fatbins, clang's offload bundles, ocloc's archives, and
 * host ELF files that hold the first two, in their own sections or among other data. Knows where they lie and how they are compressed; what is
 * in them is device.h's.
 *
 * Walking costs a header per image, and reads nothing else of the file, but for compressed bundles,
 * whose list is compressed with them.
 */
#pragma once

#include "base/err.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

enum image_kind {
	IMAGE_ELF, /* for device_open() */
	IMAGE_PTX, /* text */
	IMAGE_OTHER,
};

enum image_compression {
	IMAGE_STORED,
	IMAGE_LZ4,
	IMAGE_ZSTD,
	IMAGE_ZLIB,
};

struct device_image {
	enum image_kind kind;
	enum image_compression compression;
	const char *target; /* "sm_90", "hipv4-amdgcn-amd-amdhsa--gfx90a"; "" for a plain file */
	const char *name;   /* of the source, where it is given; else "" */
	uint64_t
		offset; /* of the stored bytes, in the file or in the bundle when that was inflated */
	struct span stored;
	uint64_t size; /* inflated */
};

/* What one image may inflate to: NVIDIA's largest are 150 MB. */
#define IMAGE_BYTES_MAX (1ull << 30)

/* What was walked over; the sum is the size of the sections of their own (or of the file, if it is no ELF file), and
 * of what was found in others. */
struct device_image_bytes {
	uint64_t headers, images, padding, unknown;
};

/*
 * Call @fn for each image; what it is given lives until it returns. Its non-zero result ends the walk
 * and is returned. @ret_bytes may be NULL. -ENOENT: there is none; -EBADMSG: damaged.
 */
int device_images(struct span file, const char *name,
		  int (*fn)(void *data, const struct device_image *image), void *data,
		  struct device_image_bytes *ret_bytes, struct err *err);

/* The image's bytes: as they are, or in *@ret_owned, which the caller frees. */
int device_image_inflate(const struct device_image *image, struct span *ret, uint8_t **ret_owned,
			 struct err *err);
