/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ocloc writes for several devices: a Unix archive (ar(5)) with a member for each, named after it, and
 * "pad_N" members between them.
 */
#include "device/images_internal.h"

#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define HEADER_BYTES 60u

struct member {
	char name[17];
	uint64_t size;
};

static bool read_member(struct span header, struct member *ret)
{
	const char *h = (const char *)header.data, *size = h + 48;
	if (h[58] != '`' || h[59] != '\n' || parse_digits(&size, h + 58, 10, &ret->size) < 0)
		return false;
	size_t n = 0;
	while (n < 16 && h[n] != '/' && isgraph((unsigned char)h[n]))
		n++;
	memcpy(ret->name, h, n);
	ret->name[n] = '\0';
	return true;
}

int images_archive(struct images_walk *w, struct span s)
{
	size_t at = strlen(ARCHIVE_MAGIC);

	w->bytes.headers += at;
	while (s.size - at >= HEADER_BYTES) {
		struct member m;
		struct span data;
		if (!read_member(span_of(s.data + at, HEADER_BYTES), &m) ||
		    span_slice(s, at + HEADER_BYTES, m.size, &data) < 0)
			return err_set(w->err, -EBADMSG, "'%s': archive at 0x%zx: damaged member",
				       w->name, at);
		w->bytes.headers += HEADER_BYTES;
		bool is_code = data.size >= 4 &&
			       (!memcmp(data.data, "\177ELF", 4) || !memcmp(data.data, "CTNI", 4));
		int rc = images_emit(w, &(struct device_image){
						.kind = is_code ? IMAGE_ELF : IMAGE_OTHER,
						.target = m.name,
						.name = "",
						.offset = at + HEADER_BYTES,
						.stored = data,
						.size = data.size,
					});
		if (rc)
			return rc;
		at += HEADER_BYTES + m.size;
		/* Members begin at even places. */
		if (at % 2 && at < s.size) {
			at++;
			w->bytes.padding++;
		}
	}
	w->bytes.padding += s.size - at;
	return 0;
}
