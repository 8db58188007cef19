/* SPDX-License-Identifier: Apache-2.0 */
/* "key=value;...": what an importer knows besides of launches and kernels; values hold no ';'. */
#pragma once

#include "base/span.h"

/* Empty when there is no such key. */
struct span metadata_value(const char *text, const char *key);
