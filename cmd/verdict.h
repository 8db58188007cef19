/* SPDX-License-Identifier: Apache-2.0 */
/* What `report` says before its first table, in words. */
#pragma once

#include "base/strbuf.h"
#include "cmd/view.h"
#include "export/json.h"

/* Two lines; nothing when the capture has no device time. */
void verdict_lines(struct strbuf *out, const struct view *v, unsigned width);
/* The same as values of an object that the caller has opened. */
void verdict_json(struct json *j, const struct analysis_summary *s);
