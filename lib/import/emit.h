/* SPDX-License-Identifier: Apache-2.0 */
/* A nested and linked trace as records, in order of time. */
#pragma once

#include "base/err.h"
#include "import/nest.h"
#include "import/session.h"
#include "import/trace.h"

/* What stands for the device work whose launch is not known. */
struct emit_paths {
	uint32_t before_window; /* "[launched before recording]" */
	uint32_t unknown;       /* "[unattributed]" */
};

int emit_trace(struct session *s, struct trace *t, struct nest *n, const struct emit_paths *paths);
