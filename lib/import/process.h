/* SPDX-License-Identifier: Apache-2.0 */
/* A trace that was read, on its way to records: nested, linked, judged and written. */
#pragma once

#include "base/err.h"
#include "import/session.h"
#include "import/trace.h"

int process_trace(struct session *s, struct trace *t, const char *name, struct err *err);
