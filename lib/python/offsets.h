/* SPDX-License-Identifier: Apache-2.0 */
/* The layouts of CPython's versions: known ones, and what newer ones tell of themselves. */
#pragma once

#include "base/err.h"
#include "base/span.h"
#include "python/layout.h"

/*
 * By @version, as PY_VERSION_HEX has it, of which only major and minor count: 3.8 to 3.12. -ENOTSUP
 * for others: older ones, which no one should use any more, and newer ones, which tell themselves.
 */
int python_layout_known(struct python_layout *ret, uint32_t version, struct err *err);

/* The bytes that python_layout_parse() wants; of 3.13 fewer are used. */
#define PYTHON_DEBUG_OFFSETS_BYTES 760

/*
 * From _Py_DebugOffsets, with which _PyRuntime begins since 3.13: bytes that nobody vouches for.
 * -EBADMSG for what cannot be, -ENOTSUP for a version whose table is not known.
 */
int python_layout_parse(struct python_layout *ret, struct span bytes, struct err *err);
