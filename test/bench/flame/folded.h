/* SPDX-License-Identifier: Apache-2.0 */
/* Folded lines straight into a tree, for benchmarks: what an importer does, without a capture. */
#pragma once

#include "base/err.h"

struct profile;

int folded_read(const char *path, const char *metric, struct profile **ret, struct err *err);
