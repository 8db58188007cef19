/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 (RFC 4648, section 4). */
#pragma once

#include "base/strbuf.h"

#include <stdint.h>

/* Three bytes make four letters; what is left over waits for more or for the end. */
struct base64 {
	uint8_t rest[3];
	size_t rest_size;
};

void base64_add(struct base64 *b, struct strbuf *out, const void *data, size_t size);
void base64_end(struct base64 *b, struct strbuf *out);
