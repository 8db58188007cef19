/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to a gzip stream in a FILE, as they come. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

struct deflater {
	z_stream z;
	FILE *out;
	uint8_t *buffer;
};

/* 0 or a negative errno, here and below; release it whatever they return. */
int deflater_init(struct deflater *d, FILE *out);
void deflater_release(struct deflater *d);
int deflater_put(struct deflater *d, const void *data, size_t size);
/* Write what is left and the end of the stream. */
int deflater_finish(struct deflater *d);
