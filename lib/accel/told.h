/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a library of ours inside a target tells (inject/message.h), taken apart: messages out of batches, names, and
 * images that come in parts. All of it may be what an enemy wrote. Does not know what a runtime makes of it.
 */
#pragma once

#include "base/hash.h"
#include "base/span.h"
#include "capture/writer.h"

#include <stdbool.h>
#include <stdint.h>

/* Names that a target may give. */
#define TOLD_NAMES_MAX (1u << 17)
/* An image larger than this is not kept: the largest of vendors' own libraries have some 100 MB, and no source. */
#define TOLD_IMAGE_MAX (16u << 20)

struct told_message {
	uint16_t type;  /* enum inject_type, or of a newer library */
	uint16_t about; /* as in struct inject_header */
	struct span whole;
	struct cursor body; /* behind the header */
};

/* The next message at the front of @batch, which is then what is behind it. */
bool told_next(struct span *batch, struct told_message *ret);

/* An enum launch_kind for an enum inject_launch_kind of a device's work. */
uint8_t told_work_kind(uint32_t kind);

/* Does it hold until it is told otherwise, and of what? The same thing has the same number. */
bool told_lasts(const struct told_message *m, uint64_t *ret_identity);

/* INJECT_NAME: what a number stands for from now on, as a string of the capture. */
int told_name(struct hash *names, struct capture_writer *w, struct cursor *m);

/* An image of a module that is coming in parts; all-zero is none. */
struct told_image {
	uint64_t module, total, filled;
	unsigned char *bytes;
};

/* INJECT_CODE: 1: it is whole, for the caller to release; 0: not yet, or it makes no sense. */
int told_image_part(struct told_image *image, struct cursor *m);
void told_image_release(struct told_image *image);
