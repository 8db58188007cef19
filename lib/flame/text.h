/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and names as a reader sees them. Knows units and metrics by name; no file format. */
#pragma once

#include "base/frame.h"
#include "base/strbuf.h"

#include <stddef.h>
#include <stdint.h>

/* "1,234 samples", "12.3 ms", "1.50 MiB". */
void text_value(struct strbuf *out, uint64_t value, const char *unit);
/* "12.3 %", "100 %", "< 0.1 %". */
void text_share(struct strbuf *out, uint64_t part, uint64_t whole);
/* What the width of a frame means, for a metric's name. Never NULL. */
const char *text_metric(const char *name);
/* What a kind is called in the legend. */
const char *text_kind(enum frame_kind kind);

/*
 * A name as a label of at most @columns monospace columns: leading C++ scopes and the place of an
 * instruction go first, then the end is cut, ending in "..". Empty when not even three columns fit. The output is valid UTF-8
 * without controls.
 */
void text_label(struct strbuf *out, const struct frame *frame, size_t columns);

/*
 * For XML text and attributes: markup characters escaped, what XML 1.0 or a reader's eye cannot
 * take (controls, bidirectional overrides, invalid UTF-8) replaced by U+FFFD. Of more than
 * @max_bytes, the rest is told by its length.
 */
void text_xml(struct strbuf *out, const char *text, size_t max_bytes);
/* The same for a JSON string, with its quotes and in full. */
void text_json(struct strbuf *out, const char *text);
