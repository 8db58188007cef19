/* SPDX-License-Identifier: Apache-2.0 */
/* One input as accelerator code, and what must hold whatever it is. libdw is in this process; disassemblers are
 * left to the helper that they run in. */
#pragma once

#include "device/device.h"
#include "device/images.h"
#include "device/source.h"

#include <stdlib.h>

static inline void fuzz_object(struct span bytes)
{
	CLEANUP(device_close) struct device_object *o = NULL;
	struct device_source source;
	struct device_place p;

	if (device_open(&o, bytes, "fuzz", DEVICE_NO_CHILD, NULL) < 0)
		return;
	for (size_t i = 0; i < device_function_count(o) && i < 64; i++) {
		const struct device_function *f = device_function_get(o, i);
		int64_t count = device_place_count(o, i);
		for (size_t k = 0; count > 0 && k < (size_t)count; k++) {
			device_place_get(o, i, k, &p);
			if (p.line_count && device_source(o, p.lines[0].file, &source) == 0 &&
			    source.text.size > bytes.size * 1032)
				abort();
			if (p.offset - f->offset >= f->size || p.bytes.size > p.length)
				abort();
		}
		if (device_resolve(o, f->offset, &p) < 0 ||
		    f->offset - p.function->offset >= p.function->size)
			abort();
	}
}

static inline int fuzz_image(void *data, const struct device_image *image)
{
	struct span bytes;
	uint8_t *owned = NULL;
	(void)data;
	/* Larger is slow, not different. */
	if (image->size > 1 << 20 || device_image_inflate(image, &bytes, &owned, NULL) < 0)
		return 0;
	if (image->kind == IMAGE_ELF)
		fuzz_object(bytes);
	free(owned);
	return 0;
}

/* A file with images in it: all of its bytes are accounted for, unless entries of a forged one overlap. */
static inline void fuzz_images(struct span bytes)
{
	struct device_image_bytes b = { 0 };

	if (device_images(bytes, "fuzz", fuzz_image, NULL, &b, NULL) == 0 &&
	    (bytes.size < 4 || bytes.data[0] != 0x7f) &&
	    b.headers + b.images + b.padding + b.unknown < bytes.size)
		abort();
}
