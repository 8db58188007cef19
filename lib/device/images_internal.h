/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over images, shared by the kinds of containers. Internal to lib/device. */
#pragma once

#include "device/images.h"

struct images_walk {
	const char *name;
	int (*fn)(void *data, const struct device_image *image);
	void *data;
	struct device_image_bytes bytes;
	uint64_t count;
	bool is_before_linking; /* these images are not what runs */
	struct err *err;
};

#define FATBIN_MAGIC "\x50\xed\x55\xba" /* 0xba55ed50 */
#define BUNDLE_MAGIC "__CLANG_OFFLOAD_BUNDLE__"
#define CCOB_MAGIC   "CCOB"

#define ARCHIVE_MAGIC "!<arch>\n"

int images_emit(struct images_walk *w, const struct device_image *image);

/* A whole file. */
int images_archive(struct images_walk *w, struct span s);
/* The container that @s begins with, at @base of the file: its images, and in @ret_used its size. */
int images_fatbin(struct images_walk *w, struct span s, uint64_t base, uint64_t *ret_used);
int images_bundle(struct images_walk *w, struct span s, uint64_t base, uint64_t *ret_used);
int images_compressed_bundle(struct images_walk *w, struct span s, uint64_t base,
			     uint64_t *ret_used);
