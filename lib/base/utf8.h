/* SPDX-License-Identifier: Apache-2.0 */
/* Names are hostile: what is UTF-8, and which characters may reach a terminal or a picture. */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The character at @text[0..@size): its length in bytes and, in @ret, its code point. A byte that
 * starts no valid UTF-8 sequence (overlong, surrogate, beyond U+10FFFF, cut short) gives length 1
 * and UINT32_MAX. @size must not be 0.
 */
size_t utf8_next(const char *text, size_t size, uint32_t *ret);

/* C0 and C1 controls, DEL, and the bidirectional controls, which can make a name read as another. */
bool utf8_is_unsafe(uint32_t code);

/*
 * Append @text with each unsafe character and each invalid byte replaced by U+FFFD, so that the
 * result is valid UTF-8 that can be printed on a terminal.
 */
void utf8_append_safe(struct strbuf *out, const char *text, size_t size);
