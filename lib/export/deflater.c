/* SPDX-License-Identifier: Apache-2.0 */
#include "export/deflater.h"

#include <errno.h>
#include <stdlib.h>

#define BUFFER_BYTES (64u << 10)
#define GZIP_WINDOW  (MAX_WBITS + 16) /* zlib.h: 16 more is a gzip header */

int deflater_init(struct deflater *d, FILE *out)
{
	*d = (struct deflater){ .out = out };
	uint8_t *buffer = malloc(BUFFER_BYTES);
	/* A name and time in the header would make equal profiles differ. */
	if (!buffer || deflateInit2(&d->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
				    Z_DEFAULT_STRATEGY) != Z_OK) {
		free(buffer);
		return -ENOMEM;
	}
	d->buffer = buffer;
	return 0;
}

void deflater_release(struct deflater *d)
{
	if (d->buffer)
		deflateEnd(&d->z);
	free(d->buffer);
	d->buffer = NULL;
}

static int deflater_run(struct deflater *d, int flush)
{
	int rc;
	do {
		d->z.next_out = d->buffer;
		d->z.avail_out = BUFFER_BYTES;
		rc = deflate(&d->z, flush);
		if (rc == Z_STREAM_ERROR)
			return -EINVAL;
		size_t size = BUFFER_BYTES - d->z.avail_out;
		if (fwrite(d->buffer, 1, size, d->out) != size)
			return errno ? -errno : -EIO;
	} while (flush == Z_FINISH ? rc != Z_STREAM_END : !d->z.avail_out);
	return 0;
}

int deflater_put(struct deflater *d, const void *data, size_t size)
{
	if (size > UINT32_MAX)
		return -E2BIG;
	d->z.next_in = (void *)data; /* zlib does not write there */
	d->z.avail_in = (uInt)size;
	return deflater_run(d, Z_NO_FLUSH);
}

int deflater_finish(struct deflater *d)
{
	d->z.next_in = NULL;
	d->z.avail_in = 0;
	return deflater_run(d, Z_FINISH);
}
