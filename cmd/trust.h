/* SPDX-License-Identifier: Apache-2.0 */
/* How much of what `report` shows is to be believed, in two lines. */
#pragma once

#include "base/strbuf.h"
#include "cmd/view.h"

/* Two lines that begin with "trust"; what has no room there is in the view "quality". */
void trust_lines(struct strbuf *out, const struct view *v, unsigned width);
