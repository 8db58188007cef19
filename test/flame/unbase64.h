/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The inverse of lib/flame/base64.c, for what it made. */
static inline size_t unbase64(const char *text, uint8_t *out)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = 0;
	uint32_t bits = 0;
	int have = 0;
	for (; *text && *text != '='; text++) {
		bits = bits << 6 | (uint32_t)(strchr(letters, *text) - letters);
		have += 6;
		if (have >= 8) {
			have -= 8;
			out[n++] = (uint8_t)(bits >> have);
		}
	}
	return n;
}
