/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes strict JSON of an object that a profiler wrote badly: bare NaN and inf, quotes, backslashes
 * and control characters that nobody escaped in names, trailing commas. Used only for objects that
 * a strict parser has refused.
 */
#pragma once

#include "base/span.h"
#include "base/strbuf.h"

/*
 * @text starts with '{' (or '['). 1: the object is in @out, and took @ret_size bytes; 0: @text ends before
 * the object does; -EBADMSG: beyond repair; -ENOMEM.
 */
int repair_object(struct span text, struct strbuf *out, size_t *ret_size);
