/* SPDX-License-Identifier: Apache-2.0 */
/* The last lines of `report`: what to do next. */
#pragma once

#include "analyze/hints.h"
#include "base/strbuf.h"
#include "export/json.h"

/* "NEXT" and a numbered sentence each, broken to fit @width; nothing where there are no hints. */
void next_lines(struct strbuf *out, const struct hints *hints, unsigned width);
/* An array of objects, as the value of "hints". */
void next_json(struct json *j, const struct hints *hints);
